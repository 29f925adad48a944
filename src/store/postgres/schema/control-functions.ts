// The writes of questions, queued messages and turns that start later, one function each.

export const controlFunctions = `
create view skein.ask_rows as
  select a.*, s.id as session_id, t.id as turn_id from skein.asks a
  join skein.sessions s on s.n = a.session and s.purged_at is null join skein.turns t on t.n = a.turn;

create view skein.pending_rows as
  select i.*, s.id as session_id, row_number() over (partition by i.session order by i.kind = 'queued', i.n) as place,
    s.holder is not null and skein.is_living(s.holder) as is_busy
  from skein.inputs i join skein.sessions s on s.n = i.session and s.purged_at is null where i.kind <> 'message' and i.turn is null;

create function skein.ask_event(t skein.target, p_ask bigint, p_kind int) returns json language plpgsql as $$
declare turn_n bigint;
begin
  select turn into turn_n from skein.asks where n = p_ask;
  t := skein.record_event(t, p_kind, turn_n, null, p_ask);
  perform skein.save_seq(t);
  return json_build_object('seq', t.seq, 'at', t.at, 'ask', (select row_to_json(r) from skein.ask_rows r where r.n = p_ask));
end $$;

create function skein.open_ask(p_session text, p_epoch bigint, p_turn text, p_ask text) returns json language plpgsql as $$
declare t skein.target := skein.locked(p_session, p_epoch); j json := p_ask::json; ask_n bigint;
begin
  select n into ask_n from skein.asks where id = j ->> 'id';
  if found then
    return json_build_object('seq', (select seq from skein.events where session = t.n and item = ask_n and kind = 4), 'at', t.at,
      'ask', (select row_to_json(r) from skein.ask_rows r where r.n = ask_n));
  end if;
  insert into skein.asks (id, session, turn, call, question, options, opened_at, expires_at)
    values (j ->> 'id', t.n, skein.open_turn(t, p_turn), j ->> 'call', j ->> 'question', j ->> 'options', t.at, (j ->> 'expiresAt')::bigint)
    returning n into ask_n;
  return skein.ask_event(t, ask_n, 4);
end $$;

create function skein.close_ask(p_session text, p_epoch bigint, p_id text, p_close text) returns json language plpgsql as $$
declare t skein.target := skein.locked(p_session, p_epoch); j json := p_close::json; ask_n bigint;
begin
  update skein.asks set closed_at = t.at, outcome = j ->> 'outcome', answer = j ->> 'answer'
    where id = p_id and session = t.n and closed_at is null returning n into ask_n;
  if not found then raise exception using errcode = 'SK006', message = 'ask-closed', detail = p_id; end if;
  return skein.ask_event(t, ask_n, 5);
end $$;

create function skein.queue_event(t skein.target) returns json language plpgsql as $$
begin
  t := skein.record_event(t, 6, null, null, null);
  perform skein.save_seq(t);
  return json_build_object('seq', t.seq, 'at', t.at, 'queue', skein.queue_at(t.n, t.seq));
end $$;

create function skein.queue_input(p_session text, p_epoch bigint, p_id text, p_text text) returns json language plpgsql as $$
declare t skein.target := skein.locked(p_session, p_epoch); queued bigint;
begin
  select queued_at into queued from skein.inputs where id = p_id;
  if found then return json_build_object('queuedAt', queued); end if;
  insert into skein.inputs (id, session, text, queued_at, queued_seq) values (p_id, t.n, p_text, t.at, t.seq + 1);
  return json_build_object('queuedAt', t.at, 'event', skein.queue_event(t));
end $$;

create function skein.drop_input(p_session text, p_epoch bigint, p_id text) returns json language plpgsql as $$
declare t skein.target := skein.locked(p_session, p_epoch); input json;
begin
  select q into input from json_array_elements(skein.queue_at(t.n, t.seq)) q where q ->> 'id' = p_id;
  if not found then return 'null'::json; end if;
  update skein.inputs set taken_seq = t.seq + 1 where id = p_id;
  return json_build_object('value', input, 'event', skein.queue_event(t));
end $$;

-- Every queued message becomes a node. "nodes" is JSON: for each message that the caller has seen, id, info and body of its node.
-- Messages that came later stay queued for the next call.
create function skein.take_inputs(p_session text, p_epoch bigint, p_turn text, p_nodes text) returns json language plpgsql as $$
declare t skein.target := skein.locked(p_session, p_epoch); turn_n bigint; input record; added json[] := '{}'; parent text; queue_event json;
begin
  for input in
    select i.n, j.value -> 'info' as info, j.value ->> 'body' as body from json_array_elements(p_nodes::json) with ordinality j(value, place)
    join skein.inputs i on i.id = j.value ->> 'input' and i.session = t.n and i.kind = 'message' and i.taken_seq is null order by i.n
  loop
    if turn_n is null then turn_n := skein.open_turn(t, p_turn); end if;
    parent := skein.id_of_node(t.tip);
    t := skein.add_node(t, turn_n, input.info, input.body);
    update skein.inputs set taken_seq = t.seq where n = input.n;
    added := added || json_build_object('id', input.info ->> 'id', 'seq', t.seq, 'at', t.at, 'parent', parent);
  end loop;
  if cardinality(added) > 0 then queue_event := skein.queue_event(t); end if;
  return json_build_object('added', array_to_json(added), 'event', queue_event, 'tree', (select id from skein.trees where n = t.tree));
end $$;

-- The first time from "wake" on at which no other turn of the credential wakes. Turns wake at least two seconds apart.
create function skein.free_wake_time(p_credential text, p_wake bigint) returns bigint language plpgsql as $$
declare taken bigint; free bigint := p_wake;
begin
  perform pg_advisory_xact_lock(hashtext('skein.wake'), hashtext(coalesce(p_credential, '')));
  for taken in select wake_at from skein.inputs where kind <> 'message' and turn is null and wake_at > p_wake - 2000
    and credential is not distinct from p_credential order by wake_at
  loop
    if abs(taken - free) < 2000 then free := taken + 2000; end if;
  end loop;
  return free;
end $$;

create function skein.insert_pending(p_session bigint, j json, p_turn bigint) returns text language plpgsql as $$
begin
  insert into skein.inputs (id, session, text, queued_at, queued_seq, kind, request, caller, credential, wake_at, give_up_at, attempt, turn)
  values (j ->> 'id', p_session, '', skein.now_ms(), 0, j ->> 'kind', j ->> 'request', j ->> 'caller', j ->> 'credential',
    case when j ->> 'wakeAt' is not null then skein.free_wake_time(j ->> 'credential', (j ->> 'wakeAt')::bigint) end,
    (j ->> 'giveUpAt')::bigint, (j ->> 'attempt')::int, p_turn)
  on conflict (id) do nothing;
  return j ->> 'id';
end $$;

-- Removes the request of a turn that has ended. Returns the pending turn that continues it: after a kill at most three times.
create function skein.close_started(p_turn bigint, p_interrupted text) returns text language plpgsql as $$
declare r skein.inputs;
begin
  delete from skein.inputs where turn = p_turn returning * into r;
  if not found or p_interrupted is null or (p_interrupted = 'killed' and r.attempt >= 3) then return null; end if;
  return skein.insert_pending(r.session, json_build_object('id', gen_random_uuid()::text, 'kind', 'continued', 'request', r.request,
    'caller', r.caller, 'credential', r.credential, 'giveUpAt', r.give_up_at,
    'attempt', r.attempt + case when p_interrupted = 'killed' then 1 else 0 end), null);
end $$;

create function skein.number_of_session(p_session text) returns bigint language plpgsql stable as $$
declare result bigint;
begin
  select n into result from skein.sessions where id = p_session and purged_at is null;
  if not found then raise exception using errcode = 'SK003', message = 'session-unknown', detail = p_session; end if;
  return result;
end $$;

create function skein.queue_turn(p_session text, p_pending text) returns json language plpgsql as $$
declare id text := skein.insert_pending(skein.number_of_session(p_session), p_pending::json, null);
begin
  return (select row_to_json(r) from skein.pending_rows r where r.id = p_pending::json ->> 'id');
end $$;

create function skein.stop_continuing(p_session text) returns json language plpgsql as $$
declare session_n bigint := skein.number_of_session(p_session);
begin
  delete from skein.inputs where session = session_n and turn is not null;
  delete from skein.inputs where session = session_n and kind in ('waiting', 'continued');
  return to_json(found);
end $$;

create function skein.save_description(p_session text, p_request text, p_stamp text, p_body text) returns json language plpgsql as $$
declare session_n bigint := skein.number_of_session(p_session);
begin
  delete from skein.descriptions where session = session_n and (request = p_request or stamp <> p_stamp);
  insert into skein.descriptions (session, request, stamp, body) values (session_n, p_request, p_stamp, p_body)
    on conflict (session, request) do update set stamp = excluded.stamp, body = excluded.body;
  return 'null'::json;
end $$;

create function skein.record_shown_hits(p_asker text, p_hits text, p_since bigint) returns json language plpgsql as $$
begin
  delete from skein.shown_hits where at < p_since;
  insert into skein.shown_hits (asker, hit, at) select distinct p_asker, value, skein.now_ms() from json_array_elements_text(p_hits::json)
    on conflict (asker, hit) do update set at = excluded.at;
  return 'null'::json;
end $$;
`;
