// The writes of a running turn, one function each, so that a write is one statement and one round trip.
// Each first locks the session under its epoch. Ids come from the client: a write that is sent twice is done once.

export const turnFunctions = `
create function skein.record_event(inout t skein.target, p_kind int, p_turn bigint, p_node bigint, p_item bigint)
language plpgsql as $$
begin
  t.seq := t.seq + 1;
  insert into skein.events (session, seq, kind, turn, node, item, at) values (t.n, t.seq, p_kind, p_turn, p_node, p_item, t.at);
end $$;

create function skein.save_seq(t skein.target) returns void language sql as $$
  update skein.sessions set seq = t.seq, updated_at = t.at where n = t.n
$$;

create function skein.take_node_number(t skein.target) returns bigint language sql volatile as $$
  update skein.trees set last = last + 1, stale = true where n = t.tree returning t.tree * 268435456 + last
$$;

create function skein.add_spent(p_turn bigint, p_spent json) returns void language sql as $$
  update skein.turns set input = input + (p_spent ->> 'input')::bigint, output = output + (p_spent ->> 'output')::bigint,
    cache_read = cache_read + (p_spent ->> 'cacheRead')::bigint, cache_write = cache_write + (p_spent ->> 'cacheWrite')::bigint,
    cost_usd = cost_usd + (p_spent ->> 'costUsd')::float8, unpriced = unpriced + (p_spent ->> 'unpriced')::bigint,
    steps = steps + (p_spent ->> 'steps')::bigint
  where n = p_turn
$$;

-- "info" is JSON: id, author, task, spent (or null) and drop, the keys of the drafts that the node completes.
create function skein.add_node(inout t skein.target, p_turn bigint, p_info json, p_body text) language plpgsql as $$
declare number bigint := skein.take_node_number(t);
begin
  insert into skein.nodes (n, parent, session, turn, at, id, author, body)
    values (number, t.tip, t.n, p_turn, t.at, p_info ->> 'id', p_info ->> 'author', p_body);
  t := skein.record_event(t, 2, p_turn, number, null);
  update skein.sessions set tip = number, seq = t.seq, updated_at = t.at,
    task = case when t.tip is null then coalesce(task, p_info ->> 'task') else task end where n = t.n;
  if p_turn is not null then
    update skein.turns set tip = number where n = p_turn;
    if p_info ->> 'spent' is not null then perform skein.add_spent(p_turn, p_info -> 'spent'); end if;
    delete from skein.draft_parts where turn = p_turn and key in (select json_array_elements_text(p_info -> 'drop'));
  end if;
  t.tip := number;
end $$;

create function skein.id_of_node(p_node bigint) returns text language sql stable as $$ select id from skein.nodes where n = p_node $$;

create function skein.append_node(p_session text, p_epoch bigint, p_turn text, p_info text, p_body text) returns json language plpgsql as $$
declare t skein.target := skein.locked(p_session, p_epoch); parent text; earlier record;
begin
  select c.at, p.id as parent, e.seq into earlier from skein.nodes c left join skein.nodes p on p.n = c.parent
    left join skein.events e on e.session = t.n and e.node = c.n where c.id = p_info::json ->> 'id';
  if found then
    return json_build_object('at', earlier.at, 'seq', earlier.seq, 'parent', earlier.parent, 'tree', (select id from skein.trees where n = t.tree));
  end if;
  parent := skein.id_of_node(t.tip);
  t := skein.add_node(t, case when p_turn is null then null else skein.open_turn(t, p_turn) end, p_info::json, p_body);
  return json_build_object('at', t.at, 'seq', t.seq, 'parent', parent, 'tree', (select id from skein.trees where n = t.tree));
end $$;

create function skein.save_draft(p_session text, p_epoch bigint, p_turn text, p_key text, p_part int, p_text text) returns json
language plpgsql as $$
declare t skein.target := skein.locked(p_session, p_epoch); turn_n bigint := skein.open_turn(t, p_turn);
begin
  if p_part = 0 then delete from skein.draft_parts where turn = turn_n and key = p_key and part > 0; end if;
  insert into skein.draft_parts (turn, key, part, text) values (turn_n, p_key, p_part, p_text)
    on conflict (turn, key, part) do update set text = excluded.text;
  return 'null'::json;
end $$;

create function skein.record_native_id(p_session text, p_epoch bigint, p_turn text, p_native text) returns json language plpgsql as $$
declare t skein.target := skein.locked(p_session, p_epoch);
begin
  update skein.turns set native_id = p_native where n = skein.open_turn(t, p_turn);
  return 'null'::json;
end $$;

create function skein.save_turn_files(p_session text, p_epoch bigint, p_turn text, p_files text) returns json language plpgsql as $$
declare t skein.target := skein.locked(p_session, p_epoch); j json := p_files::json;
begin
  insert into skein.turn_files (turn, project, before, after)
    values (skein.open_turn(t, p_turn), j ->> 'project', j ->> 'before', j ->> 'after')
    on conflict (turn) do update set project = excluded.project, before = excluded.before, after = excluded.after;
  return 'null'::json;
end $$;

create function skein.save_call_files(p_session text, p_epoch bigint, p_turn text, p_records text) returns json language plpgsql as $$
declare t skein.target := skein.locked(p_session, p_epoch); turn_n bigint := skein.open_turn(t, p_turn); j json;
begin
  for j in select * from json_array_elements(p_records::json) loop
    insert into skein.call_files (first, turn, last, project, before, after, paths, started_at, ended_at)
    values (j ->> 'first', turn_n, j ->> 'last', j ->> 'project', j ->> 'before', j ->> 'after', j ->> 'paths',
      (j ->> 'startedAt')::bigint, (j ->> 'endedAt')::bigint)
    on conflict (first) do update set last = excluded.last, before = excluded.before, after = excluded.after,
      paths = excluded.paths, ended_at = excluded.ended_at;
  end loop;
  return 'null'::json;
end $$;

create function skein.queue_at(p_session bigint, p_seq bigint) returns json language sql stable as $$
  select coalesce(json_agg(json_build_object('id', id, 'text', text, 'queuedAt', queued_at) order by n), '[]') from skein.inputs
  where session = p_session and kind = 'message' and queued_seq <= p_seq and (taken_seq is null or taken_seq > p_seq)
$$;

-- "p" is JSON: turn (the columns), fields, budget, canFork (or null), pending, continueWith, fromQueue, prompt (info of its node).
create function skein.start_turn(p_session text, p_epoch bigint, p_start text, p_body text) returns json language plpgsql as $$
declare
  t skein.target := skein.locked(p_session, p_epoch); p json := p_start::json; turn_n bigint; started_seq bigint; prompt_seq bigint;
  prompt_parent text; queue_seq bigint; cli json; parent bigint := t.tip;
begin
  select n into turn_n from skein.turns where id = p ->> 'id' and session = t.n and ended_at is null;
  if found then return skein.started_again(t, turn_n, p ->> 'fromQueue'); end if;
  if p ->> 'pending' is null then delete from skein.inputs where session = t.n and kind in ('waiting', 'continued');
  else
    delete from skein.inputs where id = p ->> 'pending' and session = t.n and kind <> 'message' and turn is null;
    if not found then raise exception using errcode = 'SK005', message = 'pending-unknown', detail = p ->> 'pending'; end if;
  end if;
  if p ->> 'canFork' is not null then cli := skein.find_cli_session(t, p ->> 'agent', (p ->> 'canFork')::boolean); end if;
  insert into skein.turns (id, session, parent, agent, model, native_id, fields, loop, budget, started_at)
  values (p ->> 'id', t.n, parent, p ->> 'agent', p ->> 'model', case when cli ->> 'how' = 'resume' then cli ->> 'id' end,
    p ->> 'fields', p ->> 'loop', p ->> 'budget', t.at) returning n into turn_n;
  if p ->> 'continueWith' is not null then perform skein.insert_pending(t.n, p -> 'continueWith', turn_n); end if;
  t := skein.record_event(t, 1, turn_n, null, null);
  started_seq := t.seq;
  perform skein.save_seq(t);
  if p ->> 'prompt' is not null then
    prompt_parent := skein.id_of_node(t.tip);
    t := skein.add_node(t, turn_n, p -> 'prompt', p_body);
    prompt_seq := t.seq;
  end if;
  if p ->> 'fromQueue' is not null then
    update skein.inputs set taken_seq = t.seq where id = p ->> 'fromQueue' and taken_seq is null;
    t := skein.record_event(t, 6, null, null, null);
    queue_seq := t.seq;
    perform skein.save_seq(t);
  end if;
  return json_build_object('at', t.at, 'started', started_seq, 'prompt', prompt_seq, 'promptParent', prompt_parent, 'queueSeq', queue_seq,
    'queue', skein.queue_at(t.n, t.seq), 'cli', cli, 'parent', skein.id_of_node(parent), 'tree', (select id from skein.trees where n = t.tree),
    'session', skein.session_json(t.n), 'row', (select row_to_json(r) from skein.turns r where r.n = turn_n));
end $$;

-- The answer to a start that was sent again, because its first answer was lost.
create function skein.started_again(t skein.target, p_turn bigint, p_from_queue text) returns json language plpgsql as $$
declare r skein.turns; cli json; first_event record;
begin
  select * into r from skein.turns where n = p_turn;
  if r.native_id is not null then cli := json_build_object('how', 'resume', 'id', r.native_id); end if;
  select min(seq) filter (where kind = 1) as started, min(seq) filter (where kind = 2) as prompt into first_event
    from skein.events where session = t.n and turn = p_turn;
  return json_build_object('at', r.started_at, 'started', first_event.started, 'prompt', first_event.prompt,
    'promptParent', skein.id_of_node(r.parent), 'queueSeq', case when p_from_queue is not null then first_event.prompt + 1 end,
    'queue', skein.queue_at(t.n, t.seq), 'cli', cli, 'parent', skein.id_of_node(r.parent),
    'tree', (select id from skein.trees where n = t.tree), 'session', skein.session_json(t.n), 'row', row_to_json(r));
end $$;

create function skein.session_json(p_session bigint) returns json language sql stable as $$
  select row_to_json(r) from (
    select s.*, t.id as tree_id, p.id as tip_id from skein.sessions s join skein.trees t on t.n = s.tree
    left join skein.nodes p on p.n = s.tip where s.n = p_session) r
$$;

-- "p" is JSON: columns (model, agent, loop, native_id if given), fields, status, spent, interrupted ('killed', 'stopped' or null), next.
create function skein.end_turn(p_session text, p_epoch bigint, p_turn text, p_end text) returns json language plpgsql as $$
declare
  t skein.target := skein.locked(p_session, p_epoch); p json := p_end::json; c jsonb := (p_end::json ->> 'columns')::jsonb;
  turn_n bigint; next text; seq_ended bigint;
begin
  select r.n, e.seq into turn_n, seq_ended from skein.turns r join skein.events e on e.session = t.n and e.turn = r.n and e.kind = 3
    where r.id = p_turn and r.session = t.n and r.end_key = p ->> 'key';
  if not found then
    turn_n := skein.open_turn(t, p_turn);
    update skein.turns set ended_at = greatest(t.at, started_at), status = p ->> 'status', end_fields = p ->> 'fields', end_key = p ->> 'key',
      model = case when jsonb_exists(c, 'model') then c ->> 'model' else model end, agent = coalesce(c ->> 'agent', agent),
      loop = case when jsonb_exists(c, 'loop') then c ->> 'loop' else loop end, native_id = coalesce(c ->> 'native_id', native_id)
    where n = turn_n;
    if p ->> 'spent' is not null then perform skein.add_spent(turn_n, p -> 'spent'); end if;
    t := skein.record_event(t, 3, turn_n, null, null);
    seq_ended := t.seq;
    perform skein.save_seq(t);
    next := skein.close_started(turn_n, p ->> 'interrupted');
    if p ->> 'next' is not null then next := skein.insert_pending(t.n, p -> 'next', null); end if;
  end if;
  return json_build_object('seq', seq_ended, 'at', t.at, 'session', skein.session_json(t.n),
    'turn', (select row_to_json(r) from skein.turn_rows r where r.n = turn_n), 'below', skein.below_turns(array[t.id]),
    'pending', case when next is not null then (select json_agg(row_to_json(q) order by q.place) from skein.pending_rows q where q.session = t.n) end,
    'next', next);
end $$;

create view skein.turn_rows as
  select t.*, s.id as session_id, a.id as parent_id, b.id as tip_id from skein.turns t join skein.sessions s on s.n = t.session
  left join skein.nodes a on a.n = t.parent left join skein.nodes b on b.n = t.tip;

-- The turns of the sub-sessions of these sessions, at any depth, without sessions that execute a plan.
create function skein.below_turns(p_sessions text[]) returns json language sql stable as $$
  with recursive subtree (root, id) as (
    select s.parent_session, s.id from skein.sessions s where s.parent_session = any (p_sessions) and s.plan is null
    union select b.root, s.id from subtree b join skein.sessions s on s.parent_session = b.id where s.plan is null
  )
  select coalesce(json_agg(row_to_json(r)), '[]') from (
    select b.root, t.started_at, t.input, t.output, t.cache_read, t.cache_write, t.cost_usd, t.unpriced
    from subtree b join skein.sessions s on s.id = b.id join skein.turns t on t.session = s.n) r
$$;

-- Decides whether a turn resumes, forks or restarts the CLI's own session: the same rules as in SQLite's cli-sessions.ts.
create function skein.find_cli_session(t skein.target, p_agent text, p_can_fork boolean) returns json language plpgsql as $$
declare latest record; unanswered text; after_node text; previous record; at_node bigint;
begin
  if t.tip is null then return null; end if;
  select u.n, u.native_id, u.status, u.parent into latest from skein.turns u join skein.sessions s on s.n = u.session
    where u.tip = t.tip and u.agent = p_agent and u.native_id is not null and u.source is null and u.ended_at is not null
      and s.directory = (select directory from skein.sessions where n = t.n)
      and not exists (select 1 from skein.turns later where later.native_id = u.native_id and later.n > u.n)
    order by u.n desc limit 1;
  if not found then return null; end if;
  if latest.status not in ('ok', 'check-failed') then
    at_node := latest.parent;
    loop
      exit when at_node is null;
      select n, status, parent into previous from skein.turns
        where tip = at_node and agent = p_agent and native_id = latest.native_id order by n desc limit 1;
      exit when not found;
      if previous.status in ('ok', 'check-failed') then after_node := skein.id_of_node(at_node); exit; end if;
      at_node := previous.parent;
    end loop;
    if latest.status in ('rate-limited', 'overloaded') then
      select id into unanswered from skein.nodes where n = t.tip and author = 'user';
    end if;
    if after_node is null and unanswered is not null then return null; end if;
    return json_build_object('how', 'resume', 'id', latest.native_id, 'mayLack', case when unanswered is null
      then json_build_object('nodesAfter', after_node) else json_build_object('nodesAfter', after_node, 'unanswered', unanswered) end);
  end if;
  if p_can_fork and (exists (select 1 from skein.sessions where tree = t.tree and tip = t.tip and n <> t.n and purged_at is null)
    or exists (select 1 from skein.turns where parent = t.tip and agent = p_agent and session <> t.n and ended_at is null))
  then return json_build_object('how', 'fork', 'id', latest.native_id); end if;
  return json_build_object('how', 'resume', 'id', latest.native_id);
end $$;
`;
