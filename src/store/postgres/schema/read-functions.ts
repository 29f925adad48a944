// Reads that are more than one query: the path of a node, and search. Both set what their plans need.

export const readFunctions = `
-- The nodes of a tree have adjacent numbers, so a path is one sweep downwards. If most of the numbers belong to other
-- branches, the rest is read parent by parent.
create function skein.path(p_tip bigint) returns setof skein.nodes language plpgsql stable rows 500
set enable_seqscan = off set enable_sort = off set enable_bitmapscan = off as $$
declare r skein.nodes; next bigint := p_tip; seen int := 0; hits int := 0;
begin
  for r in select * from skein.nodes c where c.n <= p_tip and c.n > (p_tip / 268435456) * 268435456 order by c.n desc loop
    seen := seen + 1;
    if r.n = next then
      hits := hits + 1;
      return next r;
      next := r.parent;
      exit when next is null;
    elsif seen > 256 and seen > 3 * hits then exit;
    end if;
  end loop;
  if next is null then return; end if;
  return query with recursive ancestors as (
    select c.* from skein.nodes c where c.n = next
    union all select c.* from ancestors a join skein.nodes c on c.n = a.parent and c.n < a.n
  ) select * from ancestors;
end $$;

-- A generic plan makes search many times slower, and parallel workers cost more than they save: so both are set here.
-- More than 5,000 matches are not ranked; the latest come first.
create function skein.find_words(p_query text, p_project text, p_limit bigint) returns table (n bigint, session bigint, rank float8)
language plpgsql stable set plan_cache_mode = force_custom_plan set max_parallel_workers_per_gather = 0 as $$
declare total bigint; q tsquery := p_query::tsquery;
begin
  select count(*) into total from (select 1 from skein.words w where w.tokens @@ q limit 5001) c;
  if total = 0 then return; end if;
  return query
    select w.n, case when s.purged_at is null then s.n else coalesce((select min(o.n) from skein.sessions o
      where o.tree = s.tree and o.purged_at is null), s.n) end,
      case when total > 5000 then 0.0::float8 else -ts_rank(w.tokens, q, 2)::float8 end as rank
    from skein.words w join skein.nodes c on c.n = w.n join skein.sessions s on s.n = c.session
    where w.tokens @@ q and (p_project is null or s.project = p_project or s.worktree_project = p_project)
    order by 3, w.n desc limit p_limit;
end $$;

create function skein.index_words(p_tree bigint, p_from bigint, p_to bigint, p_words text) returns json language plpgsql as $$
begin
  update skein.trees set indexed = p_to, stale = p_to < last where n = p_tree and indexed = p_from;
  if not found then return 'false'::json; end if;
  insert into skein.words (n, tokens) select (j ->> 0)::bigint, (j ->> 1)::tsvector from json_array_elements(p_words::json) j
    where exists (select 1 from skein.nodes c where c.n = (j ->> 0)::bigint)
    on conflict (n) do update set tokens = excluded.tokens;
  return 'true'::json;
end $$;
`;
