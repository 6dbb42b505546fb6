//! A file that gets its name only when it is complete, and that one process at a time can write.
//!
//! Until then its name ends in `.partial`. The writer holds a lock on the file, so a second run that writes to the same
//! name is refused when it begins, and not after its simulation.

use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A file that is being written. Dropping an unfinished file deletes it.
pub struct PartialFile {
    path: PathBuf,
    partial: PathBuf,
    file: BufWriter<File>,
    finished: bool,
}

impl PartialFile {
    /// Creates the file under its temporary name, and locks it. A file that a killed process has left is overwritten.
    ///
    /// # Errors
    /// An error if the file cannot be created, or if a process is writing it.
    pub fn create(path: &Path) -> io::Result<PartialFile> {
        let mut name = OsString::from(path.file_name().unwrap_or_default());
        name.push(".partial");
        let partial = path.with_file_name(name);
        let file = loop {
            let file = File::options().write(true).create(true).truncate(false).open(&partial)?;
            match file.try_lock() {
                Err(TryLockError::WouldBlock) => return Err(io::Error::other("another process is writing it")),
                // Some file systems have no locks.
                Err(TryLockError::Error(_)) => break file,
                // The writer that held the lock until now may have renamed or deleted this file.
                Ok(()) if has_name(&file, &partial) => break file,
                Ok(()) => {}
            }
        };
        file.set_len(0)?;
        Ok(PartialFile { path: path.to_owned(), partial, file: BufWriter::new(file), finished: false })
    }

    /// Writes everything to the disk and gives the file its name, and the permissions of the file that it replaces.
    ///
    /// # Errors
    /// An error if the disk is full, or the file cannot be renamed.
    pub fn finish(mut self) -> io::Result<()> {
        self.file.flush()?;
        self.file.get_ref().sync_all()?;
        if let Ok(replaced) = self.path.metadata() {
            self.file.get_ref().set_permissions(replaced.permissions())?;
        }
        std::fs::rename(&self.partial, &self.path)?;
        self.finished = true;
        Ok(())
    }
}

/// True if the name still leads to this open file.
fn has_name(file: &File, path: &Path) -> bool {
    let identity = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
    let named = path.metadata().map(identity);
    named.is_ok_and(|named| file.metadata().map(identity).is_ok_and(|open| open == named))
}

impl Write for PartialFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        if !self.finished {
            // If the removal fails, the `.partial` in its name still marks the file as unfinished.
            let _ = std::fs::remove_file(&self.partial);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let folder = std::env::temp_dir().join(format!("casemate-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&folder).unwrap();
            Folder(folder)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_second_writer_of_a_file_is_refused_before_it_writes_and_destroys_nothing() {
        let folder = Folder::new("second-writer");
        let path = folder.0.join("out.bus");
        let mut first = PartialFile::create(&path).unwrap();
        first.write_all(b"first").unwrap();
        let refused = PartialFile::create(&path).err().unwrap();
        assert_eq!(refused.to_string(), "another process is writing it");
        first.finish().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"first");
        let mut second = PartialFile::create(&path).unwrap();
        second.write_all(b"second").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"first", "the old file remains until the new one is complete");
        second.finish().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"second");
    }

    #[test]
    fn a_file_left_by_a_killed_writer_is_overwritten_and_an_unfinished_one_is_deleted() {
        let folder = Folder::new("killed-writer");
        let path = folder.0.join("out.trace");
        std::fs::write(folder.0.join("out.trace.partial"), b"a longer text of a killed process").unwrap();
        let mut file = PartialFile::create(&path).unwrap();
        file.write_all(b"short").unwrap();
        file.finish().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"short");
        drop(PartialFile::create(&path).unwrap());
        let names: Vec<_> = std::fs::read_dir(&folder.0).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["out.trace"]);
    }

    #[test]
    fn many_writers_of_one_file_leave_the_whole_file_of_one_of_them() {
        let folder = Folder::new("many-writers");
        let path = folder.0.join("out");
        let write = |number: u8| {
            let mut written = 0;
            for _ in 0..200 {
                let Ok(mut file) = PartialFile::create(&path) else { continue };
                file.write_all(&[number; 10_000]).unwrap();
                file.finish().unwrap();
                written += 1;
                let seen = std::fs::read(&path).unwrap();
                assert!(seen.len() == 10_000 && seen.iter().all(|byte| *byte == seen[0]));
            }
            written
        };
        let written: Vec<usize> = std::thread::scope(|scope| {
            let threads: Vec<_> = (1..=4).map(|number| scope.spawn(move || write(number))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(written.iter().sum::<usize>() > 0, "{written:?}");
    }
}
