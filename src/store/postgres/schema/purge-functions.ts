// Deletes archived sessions for good, one tree per transaction. The lock on the tree keeps new forks and nodes out meanwhile.

export const purgeFunctions = `
-- Hides the session from every reader. False if it was restored, acquired or purged meanwhile.
create function skein.mark_purged(p_session bigint, p_archived bigint) returns json language plpgsql as $$
declare s skein.sessions;
begin
  select * into s from skein.sessions where n = p_session for no key update;
  if not found or s.purged_at is not null or (s.holder is not null and skein.is_living(s.holder))
    or not (s.archived_at = p_archived or (s.archived_at is null and s.updated_at <= p_archived)) then return 'false'::json; end if;
  update skein.sessions set purged_at = skein.now_ms(), archived_at = coalesce(archived_at, skein.now_ms()), name = null, tip = null,
    plan = null, holder = null, epoch = epoch + 1 where n = s.n;
  delete from skein.asks where session = s.n;
  delete from skein.inputs where session = s.n;
  delete from skein.descriptions where session = s.n;
  delete from skein.draft_parts where turn in (select n from skein.turns where session = s.n);
  update skein.turns set parent = null, tip = null where session = s.n;
  return 'true'::json;
end $$;

-- "sessions" are the sessions to purge. A dry run names sessions that are not marked as purged yet. A node stays, with all its
-- ancestors, if another session wrote it, has its tip or fork point there, or started a turn there. The turn of such a node stays.
create function skein.purge_tree(p_tree bigint, p_sessions bigint[], p_dry boolean) returns json language plpgsql as $$
declare doomed bigint[]; kept_turns bigint[]; total bigint; size bigint; turn_count bigint; low bigint := p_tree * 268435456;
begin
  perform 1 from skein.trees where n = p_tree for update;
  with recursive others as (select * from skein.sessions where tree = p_tree and n <> all (p_sessions)),
  needed (n) as (
    (select tip from others where tip is not null
    union select c.n from others s join skein.nodes c on c.id = s.forked_node
    union select t.parent from others s join skein.turns t on t.session = s.n where t.parent is not null
    union select c.n from skein.nodes c where c.n > low and c.n < low + 268435456 and c.session <> all (p_sessions))
    union select c.parent from needed d join skein.nodes c on c.n = d.n where c.parent is not null
  ), candidates as (
    select c.n, c.turn, octet_length(c.body) as bytes, c.n in (select d.n from needed d) as stays from skein.nodes c
    where c.n > low and c.n < low + 268435456 and c.session = any (p_sessions)
  ) select coalesce(array_agg(n) filter (where not stays), '{}'), coalesce(array_agg(distinct turn) filter (where stays and turn is not null), '{}'),
    count(*), coalesce(sum(bytes) filter (where not stays), 0) into doomed, kept_turns, total, size from candidates;
  select count(*) into turn_count from skein.turns where session = any (p_sessions) and n <> all (kept_turns);
  if not p_dry then
    delete from skein.events where session = any (p_sessions);
    update skein.sessions set seq = 0, transcript = null where n = any (p_sessions);
    delete from skein.words where n = any (doomed);
    delete from skein.nodes where n = any (doomed);
    delete from skein.turn_files where turn in (select n from skein.turns where session = any (p_sessions) and n <> all (kept_turns));
    delete from skein.call_files where turn in (select n from skein.turns where session = any (p_sessions) and n <> all (kept_turns));
    delete from skein.turns where session = any (p_sessions) and n <> all (kept_turns);
    update skein.turns t set tip = (select max(n) from skein.nodes where turn = t.n and n > low and n < low + 268435456),
      parent = (select c.parent from skein.nodes c where c.turn = t.n and c.n > low and c.n < low + 268435456 order by c.n limit 1)
    where t.n = any (kept_turns);
  end if;
  return json_build_object('nodes', cardinality(doomed), 'keptNodes', total - cardinality(doomed), 'bytes', size, 'turns', turn_count,
    'doomed', case when p_dry then array_to_json(doomed) else '[]'::json end);
end $$;

-- Deletes outputs that no remaining node refers to. "doomed" are nodes that a dry run would have deleted.
create function skein.purge_outputs(p_sessions bigint[], p_doomed bigint[], p_dry boolean) returns json language plpgsql as $$
declare unused record; result json;
begin
  if not exists (select 1 from skein.handles where session = any (p_sessions)) then return '{"outputs":0,"bytes":0}'::json; end if;
  create temp table unused_outputs on commit drop as
    with referenced as (
      select distinct m[1] as identifier from skein.nodes c, regexp_matches(c.body, '"identifier":"([^"/]+/[0-9]+)"', 'g') m
      where c.body like '%"identifier":"%' and c.n <> all (p_doomed)
    ) select h.session, h.n, h.kept_bytes from skein.handles h join skein.sessions s on s.n = h.session
      where h.session = any (p_sessions) and s.id || '/' || h.n not in (select identifier from referenced);
  select json_build_object('outputs', count(*), 'bytes', coalesce(sum(kept_bytes), 0)) into result from unused_outputs;
  if not p_dry then
    delete from skein.blobs b using unused_outputs u where b.session = u.session and b.n = u.n;
    delete from skein.handles h using unused_outputs u where h.session = u.session and h.n = u.n;
  end if;
  drop table unused_outputs;
  return result;
end $$;

-- Deletes the rows of purged sessions that have no node, turn or output any more, and their trees.
create function skein.purge_empty(p_sessions bigint[]) returns json language plpgsql as $$
declare trees bigint[];
begin
  with gone as (
    delete from skein.sessions s where s.n = any (p_sessions) and s.purged_at is not null
      and not exists (select 1 from skein.handles where session = s.n) and not exists (select 1 from skein.turns where session = s.n)
      and not exists (select 1 from skein.nodes c where c.n > s.tree * 268435456 and c.n < (s.tree + 1) * 268435456 and c.session = s.n)
    returning s.tree
  ) select coalesce(array_agg(tree), '{}') into trees from gone;
  delete from skein.trees t where t.n = any (trees) and not exists (select 1 from skein.sessions where tree = t.n);
  return 'null'::json;
end $$;
`;
