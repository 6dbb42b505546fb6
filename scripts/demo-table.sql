-- Two million accounts, 150 MB: far more than any last-level cache here. Pages of 64 KB, as for large tables.
pragma page_size = 65536;
pragma journal_mode = off;
create table account(number integer primary key, owner text, balance integer);
insert into account select value, printf('%064x', value * 7919), value * 31 % 1009 from generate_series(1, 2000000);
