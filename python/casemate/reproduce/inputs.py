"""Generates the inputs of the studies' programs, files and statements, the same on every computer."""

from collections.abc import Iterable


def functions_in_c(count: int) -> str:
    """Input for compilers and compression programs: C functions that resemble each other."""
    return "\n".join(
        f"int f{n}(int *a, int b) {{ int s = {n}; for (int i = 0; i < b; i++) "
        f"{{ if (a[i] % {n + 2} == {n % 7}) s += a[i] * {n % 13}; else s ^= a[(i * {n + 1}) % b]; }} return s; }}"
        for n in range(count)
    )


def transport(places: int) -> str:
    """A linear program: the lowest cost of moving goods from each of `places` places to each of as many."""
    ways = [[f"x{start}_{end}" for end in range(places)] for start in range(places)]
    costs = (
        f"{1 + (start * 7_919 + end * 104_729) % 997} {way}"
        for start, row in enumerate(ways)
        for end, way in enumerate(row)
    )
    supplies = (f"s{index}: {_sum(row)} <= {50 + index % 17}" for index, row in enumerate(ways))
    demands = (f"d{index}: {_sum(column)} >= {40 + index % 13}" for index, column in enumerate(zip(*ways, strict=True)))
    return "\n".join(["Minimize", f"cost: {_sum(costs)}", "Subject To", *supplies, *demands, "End", ""])


def _sum(terms: Iterable[str]) -> str:
    # The format of the file limits the length of its lines.
    return "\n + ".join(terms)


RANDOM_ROWS = (
    "create table t(a blob primary key, c text) without rowid;"
    "with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000000) "
    "insert into t select randomblob(8), hex(randomblob(16)) from n;"
)
"""Statements for sqlite3: they insert rows in random order, each into another page."""

NUMBERS = "\n".join(str(number * 7919 % 65_537) for number in range(60_000))
"""Input of `sort -n`: numbers in random order."""

WORDS_IN_PERL = """\
my (%seen, @order);
my $x = 1;
for my $n (1 .. 3_000_000) {
    $x = ($x * 1103515245 + 12345) % 2147483648;
    my $word = "w" . ($x % 200_000);
    push @order, $word unless $seen{$word}++;
}
print join(" ", sort { $seen{$b} <=> $seen{$a} } @order), "\\n";
"""
"""Program for Perl: it counts words in a hash."""

WORDS_IN_PYTHON = """\
words = {}
x = 1
for n in range(3_000_000):
    x = (x * 1103515245 + 12345) % 2147483648
    words.setdefault("w%d" % (x % 100_000), []).append(n)
print(sorted(words, key=lambda word: -len(words[word]))[:10])
"""
"""Program for Python: it lists the positions of words in a dictionary."""
