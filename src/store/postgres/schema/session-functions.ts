// The writes of sessions outside of turns: create, move, fork, import, outputs and worktrees, one function each.

export const sessionFunctions = `
-- "p" is JSON of the columns of a session, with its place: tree (an id or null), at, tip (a node's number), strict (a tree must not be new).
create function skein.insert_session(p json, p_tree bigint, p_tip bigint, p_at bigint) returns json language plpgsql as $$
declare session_n bigint; broken text;
begin
  insert into skein.sessions (id, tree, tip, name, agent, model, directory, project, task, tool_level, parent_session, forked_session,
    forked_node, transcript, plan, source, source_id, undone, worktree, worktree_project, worktree_name, created_at, updated_at)
  values (p ->> 'id', p_tree, p_tip, p ->> 'name', p ->> 'agent', p ->> 'model', p ->> 'directory', p ->> 'project', p ->> 'task',
    p ->> 'tool_level', p ->> 'parent_session', p ->> 'forked_session', p ->> 'forked_node', p ->> 'transcript', p ->> 'plan',
    p ->> 'source', p ->> 'source_id', p ->> 'undone', p ->> 'worktree', p ->> 'worktree_project', p ->> 'worktree_name', p_at, p_at)
  returning n into session_n;
  return skein.session_json(session_n);
exception when unique_violation then
  get stacked diagnostics broken = constraint_name;
  raise exception using errcode = 'SK007', message = 'session-exists', detail = case when broken = 'sessions_by_name'
    then 'there is already a session "' || (p ->> 'name') || '" in ' || (p ->> 'project') else 'there is already a session ' || (p ->> 'id') end;
end $$;

create function skein.create_session(p_session text, p_tree text) returns json language plpgsql as $$
declare p json := p_session::json; tree_n bigint; at bigint := skein.now_ms();
begin
  insert into skein.trees (id, created_at) values (p_tree, at) returning n into tree_n;
  return skein.insert_session(p, tree_n, null, at);
end $$;

-- "p" has the columns that the fork does not take from the original.
create function skein.fork_session(p_from text, p_node text, p_fork text) returns json language plpgsql as $$
declare p jsonb := p_fork::jsonb; original skein.sessions; node_n bigint;
begin
  select * into original from skein.sessions where n = skein.number_of_session(p_from);
  -- A purge must not delete the node meanwhile.
  perform 1 from skein.trees where n = original.tree for key share;
  node_n := skein.node_in_tree(p_from, p_node);
  return skein.insert_session((jsonb_build_object('agent', original.agent, 'model', original.model, 'directory', original.directory,
    'project', original.project, 'worktree', original.worktree, 'worktree_project', original.worktree_project,
    'worktree_name', original.worktree_name, 'task', original.task, 'tool_level', original.tool_level, 'plan', original.plan)
    || p)::json, original.tree, node_n, skein.now_ms());
end $$;

create function skein.node_in_tree(p_session text, p_node text) returns bigint language plpgsql stable as $$
declare node_n bigint; s record;
begin
  select n, tree, coalesce(name, id) as label into s from skein.sessions where n = skein.number_of_session(p_session);
  select n into node_n from skein.nodes where id = p_node and n / 268435456 = s.tree;
  if found then return node_n; end if;
  raise exception using errcode = 'SK004', message = 'node-unknown', detail = 'session ' || s.label || ' has no node ' || p_node || ' in its tree';
end $$;

-- "change" has the columns to set; "p_tip" is a node's id, '' for no node, null to stay.
create function skein.update_session(p_session text, p_change text, p_tip text) returns json language plpgsql as $$
declare c jsonb := p_change::jsonb; session_n bigint := skein.number_of_session(p_session); tip_n bigint; r skein.sessions;
begin
  select * into r from skein.sessions where n = session_n for no key update;
  perform 1 from skein.trees where n = r.tree for key share;
  if p_tip <> '' then tip_n := skein.node_in_tree(p_session, p_tip); end if;
  update skein.sessions set
    name = case when jsonb_exists(c, 'name') then c ->> 'name' else name end,
    agent = coalesce(c ->> 'agent', agent),
    model = case when jsonb_exists(c, 'model') then c ->> 'model' else model end,
    task = case when jsonb_exists(c, 'task') then c ->> 'task' else task end,
    tool_level = coalesce(c ->> 'tool_level', tool_level),
    archived_at = case when jsonb_exists(c, 'archived_at') then (c ->> 'archived_at')::bigint else archived_at end,
    transcript = case when jsonb_exists(c, 'transcript') then c ->> 'transcript' else transcript end,
    source = case when jsonb_exists(c, 'source') then c ->> 'source' else source end,
    source_id = case when jsonb_exists(c, 'source') then c ->> 'source_id' else source_id end,
    undone = case when jsonb_exists(c, 'undone') then c ->> 'undone' else undone end,
    tip = case when p_tip is null then tip else tip_n end, updated_at = greatest(skein.now_ms(), updated_at)
  where n = session_n;
  return skein.session_json(session_n);
exception when unique_violation then
  raise exception using errcode = 'SK007', message = 'session-exists',
    detail = 'there is already a session "' || coalesce(c ->> 'name', r.name) || '" in ' || r.project;
end $$;

-- Returns the stored session if that id exists. A purged session gets the id "fresh" has.
create function skein.import_session(p_session text, p_tree text, p_fresh text, p_at bigint) returns json language plpgsql as $$
declare p jsonb := p_session::jsonb; tree_n bigint; stored record;
begin
  select n, purged_at into stored from skein.sessions where id = p ->> 'id';
  if found and stored.purged_at is null then return skein.session_json(stored.n); end if;
  if found then p := p || jsonb_build_object('id', p_fresh); end if;
  insert into skein.trees (id, created_at) values (p_tree, skein.now_ms()) on conflict (id) do nothing;
  select n into tree_n from skein.trees where id = p_tree;
  return skein.insert_session(p::json, tree_n, null, p_at);
end $$;

create function skein.import_turn(inout t skein.target, j json, out turn_n bigint) language plpgsql as $$
declare stored record;
begin
  select n, session into stored from skein.turns where id = j ->> 'id';
  if found and stored.session = t.n then
    update skein.turns set ended_at = greatest((j ->> 'endedAt')::bigint, started_at), status = j ->> 'status',
      model = coalesce(j ->> 'model', model) where n = stored.n and ended_at is not null;
    turn_n := stored.n;
    return;
  end if;
  insert into skein.turns (id, session, parent, agent, model, native_id, fields, source, started_at, ended_at, status)
  values (case when stored.n is null then j ->> 'id' else j ->> 'fresh' end, t.n, (select n from skein.nodes where id = j ->> 'parent'),
    j ->> 'agent', j ->> 'model', j ->> 'native_id', j ->> 'fields', j ->> 'source', (j ->> 'startedAt')::bigint,
    greatest((j ->> 'startedAt')::bigint, (j ->> 'endedAt')::bigint), coalesce(j ->> 'status', 'killed')) returning n into turn_n;
  t := skein.record_event_at(t, 1, turn_n, null, (j ->> 'startedAt')::bigint);
end $$;

create function skein.record_event_at(inout t skein.target, p_kind int, p_turn bigint, p_node bigint, p_at bigint) language plpgsql as $$
begin
  t.seq := t.seq + 1;
  insert into skein.events (session, seq, kind, turn, node, item, at) values (t.n, t.seq, p_kind, p_turn, p_node, null, p_at);
end $$;

-- "turns" is a JSON object by id, "nodes" a JSON list: id, parent, turn, at, author, spent, endsTurnAt and body.
create function skein.import_nodes(p_session text, p_epoch bigint, p_turns text, p_nodes text) returns json language plpgsql as $$
declare
  t skein.target := skein.locked(p_session, p_epoch); turns json := p_turns::json; numbers jsonb := '{}'; j json;
  turn_n bigint; parent_n bigint; number bigint; added int := 0; imported record;
begin
  for j in select * from json_array_elements(p_nodes::json) loop
    continue when exists (select 1 from skein.nodes where id = j ->> 'id');
    added := added + 1;
    turn_n := (numbers ->> (j ->> 'turn'))::bigint;
    if turn_n is null and turns ->> (j ->> 'turn') is not null then
      imported := skein.import_turn(t, turns -> (j ->> 'turn'));
      t := imported.t;
      turn_n := imported.turn_n;
      numbers := numbers || jsonb_build_object(j ->> 'turn', turn_n);
    end if;
    parent_n := null;
    if j ->> 'parent' is not null then
      select n into parent_n from skein.nodes where id = j ->> 'parent' and n / 268435456 = t.tree;
      if not found then
        raise exception using errcode = 'SK004', message = 'node-unknown',
          detail = 'node ' || (j ->> 'id') || ' continues from ' || (j ->> 'parent') || ', which is not in this tree';
      end if;
    end if;
    number := skein.take_node_number(t);
    insert into skein.nodes (n, parent, session, turn, at, id, author, body)
      values (number, parent_n, t.n, turn_n, (j ->> 'at')::bigint, j ->> 'id', j ->> 'author', j ->> 'body');
    t := skein.record_event_at(t, 2, turn_n, number, (j ->> 'at')::bigint);
    continue when turn_n is null;
    update skein.turns set tip = number where n = turn_n;
    if j ->> 'spent' is not null then perform skein.add_spent(turn_n, j -> 'spent'); end if;
    if j ->> 'endsTurnAt' is not null then t := skein.record_event_at(t, 3, turn_n, null, (j ->> 'endsTurnAt')::bigint); end if;
  end loop;
  perform skein.save_seq(t);
  return to_json(added);
end $$;

-- The number of a new output. A second try of the same call takes the number of the first.
create function skein.open_handle(p_session text, p_epoch bigint, p_call text, p_source text, p_key text) returns json language plpgsql as $$
declare t skein.target := skein.locked(p_session, p_epoch); number bigint;
begin
  select n into number from skein.handles where session = t.n and metadata = p_key;
  if found then return to_json(number); end if;
  update skein.sessions set outputs = outputs + 1 where n = t.n returning outputs into number;
  insert into skein.handles (session, n, call, source, opened_at, metadata) values (t.n, number, p_call, p_source, t.at, p_key);
  return to_json(number);
end $$;

create function skein.save_blob(p_session text, p_epoch bigint, p_n bigint, p_part int, p_bytes bytea) returns json language plpgsql as $$
declare t skein.target := skein.locked(p_session, p_epoch);
begin
  insert into skein.blobs (session, n, part, bytes) values (t.n, p_n, p_part, p_bytes)
    on conflict (session, n, part) do update set bytes = excluded.bytes;
  return 'null'::json;
end $$;

create function skein.close_handle(p_session text, p_epoch bigint, p_n bigint, p_close text) returns json language plpgsql as $$
declare t skein.target := skein.locked(p_session, p_epoch); j json := p_close::json;
begin
  update skein.handles set closed_at = t.at, bytes = (j ->> 'bytes')::bigint, kept_bytes = (j ->> 'keptBytes')::bigint,
    head_bytes = (j ->> 'headBytes')::bigint, sha256 = j ->> 'sha256', metadata = j ->> 'metadata' where session = t.n and n = p_n;
  return 'null'::json;
end $$;

create function skein.drop_handle(p_session text, p_epoch bigint, p_n bigint) returns json language plpgsql as $$
declare t skein.target := skein.locked(p_session, p_epoch);
begin
  delete from skein.blobs where session = t.n and n = p_n;
  delete from skein.handles where session = t.n and n = p_n;
  return 'null'::json;
end $$;

-- The bytes are stored in parts of 1 MB.
create function skein.import_handle(p_session text, p_epoch bigint, p_n bigint, p_handle text, p_bytes bytea) returns json
language plpgsql as $$
declare t skein.target := skein.locked(p_session, p_epoch); j json := p_handle::json;
begin
  insert into skein.handles (session, n, call, source, opened_at, closed_at, bytes, kept_bytes, head_bytes, sha256, metadata)
  values (t.n, p_n, j ->> 'call', j ->> 'source', t.at, t.at, (j ->> 'bytes')::bigint, length(p_bytes), length(p_bytes),
    j ->> 'sha256', j ->> 'metadata') on conflict (session, n) do nothing;
  if not found then return 'false'::json; end if;
  insert into skein.blobs (session, n, part, bytes)
    select t.n, p_n, part, substring(p_bytes from part * 1048576 + 1 for 1048576)
    from generate_series(0, (length(p_bytes) - 1) / 1048576) part where length(p_bytes) > 0;
  update skein.sessions set outputs = greatest(outputs, p_n) where n = t.n;
  return 'true'::json;
end $$;

create function skein.add_worktree(p_worktree text) returns json language plpgsql as $$
declare w json := p_worktree::json;
begin
  insert into skein.worktrees (project, name, directory, branch, base, files, port, linked, copied, setup, created_at, merged_at, merging)
  values (w ->> 'project', w ->> 'name', w ->> 'directory', w ->> 'branch', w ->> 'base', w ->> 'files', (w ->> 'port')::int,
    w ->> 'linked', w ->> 'copied', w ->> 'setup', (w ->> 'created_at')::bigint, (w ->> 'merged_at')::bigint, w ->> 'merging')
  on conflict (project, name) do nothing;
  return to_json(found);
end $$;

-- Sets the columns that "change" has. Returns null if there is no such worktree.
create function skein.update_worktree(p_project text, p_name text, p_change text) returns json language plpgsql as $$
declare r skein.worktrees;
begin
  select * into r from skein.worktrees where project = p_project and name = p_name for update;
  if not found then return 'null'::json; end if;
  r := jsonb_populate_record(r, p_change::jsonb);
  update skein.worktrees set directory = r.directory, branch = r.branch, base = r.base, files = r.files, port = r.port, linked = r.linked,
    copied = r.copied, setup = r.setup, created_at = r.created_at, merged_at = r.merged_at, merging = r.merging where n = r.n;
  return row_to_json(r);
end $$;
`;
