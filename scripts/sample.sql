-- About ten billion instructions of sqlite3: insert a million rows, index, join, group and sort them.
create table item(id integer primary key, name text, kind integer);
with recursive number(n) as (select 1 union all select n + 1 from number where n < 1000000)
insert into item select n, hex(n * 7919 % 1000003), n * 31 % 1009 from number;
create index item_by_kind on item(kind);
create table kind(id integer primary key, weight integer);
with recursive number(n) as (select 0 union all select n + 1 from number where n < 1008)
insert into kind select n, n * 17 % 101 from number;
select count(*), sum(length(name)) from item where kind between 100 and 700;
select weight, count(*), max(name) from item join kind on kind.id = item.kind group by weight order by 2 desc limit 5;
select name, id from item order by name desc limit 5;
select kind, count(distinct substr(name, 1, 4)) from item group by kind order by 2 desc, 1 limit 5;
select count(*) from item left join item other on other.id = item.id * 7 % 1000003 where other.kind = item.kind;
