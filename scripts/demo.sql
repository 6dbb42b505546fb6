-- Looks up one account after another, in an order that neither caches nor prefetchers foresee. The file is mapped, so
-- that the table is memory like any other.
pragma mmap_size = 1000000000;
select sum(balance) from generate_series(1, 1000000) join account on number = value * 48271 % 2000003;
