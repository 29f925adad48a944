// Leases in the database: who holds a session, who may take it, and whose heartbeat is too old.
// The epoch is in the session's row, so one lock covers the check of the lease, the sequence number and the tip.

export const leaseFunctions = `
create function skein.now_ms() returns bigint language sql volatile as $$
  select floor(extract(epoch from clock_timestamp()) * 1000)::bigint
$$;

create type skein.target as (n bigint, id text, tree bigint, tip bigint, seq bigint, at bigint);

-- Locks the session for the writing statement, and returns it. A lost lease raises SK001.
create function skein.locked(p_session text, p_epoch bigint) returns skein.target language plpgsql as $$
declare t skein.target;
begin
  select s.n, s.id, s.tree, s.tip, s.seq, greatest(skein.now_ms(), s.updated_at) into t from skein.sessions s
    where s.id = p_session and s.epoch = p_epoch and s.holder is not null for no key update;
  if not found then raise exception using errcode = 'SK001', message = 'lease-lost', detail = p_session; end if;
  return t;
end $$;

create function skein.require_lease(p_session text, p_epoch bigint) returns bigint language sql volatile as $$
  select (skein.locked(p_session, p_epoch)).n
$$;

-- The number of a turn of this session that has not ended.
create function skein.open_turn(t skein.target, p_turn text) returns bigint language plpgsql as $$
declare r record;
begin
  select n, session, ended_at into r from skein.turns where id = p_turn;
  if found and r.session = t.n and r.ended_at is null then return r.n; end if;
  raise exception using errcode = 'SK002', message = 'internal', detail =
    case when r.n is null then 'there is no turn ' || p_turn else 'turn ' || p_turn || ' has ended or belongs to another session' end;
end $$;

-- Within one TTL after a start of the server nobody is taken for dead: nobody could send a heartbeat before.
create function skein.is_living(p_worker text) returns boolean language sql volatile as $$
  select coalesce((select clock_timestamp() - greatest(w.seen_at, pg_postmaster_start_time()) < make_interval(secs => w.ttl_ms / 1000.0)
    from skein.workers w where w.id = p_worker), false)
$$;

-- "dead" is a worker whose process the caller has seen to be gone. Returns the epoch, or the holder that lives.
create function skein.acquire(p_session text, p_worker text, p_dead text, p_archived boolean) returns json language plpgsql as $$
declare s record; w record;
begin
  select n, name, id, epoch, holder, archived_at, acquired_at, purged_at into s from skein.sessions where id = p_session for no key update;
  if not found or s.purged_at is not null then raise exception using errcode = 'SK003', message = 'session-unknown', detail = p_session; end if;
  if s.archived_at is not null and not p_archived then return json_build_object('archived', true, 'name', coalesce(s.name, s.id)); end if;
  if s.holder is not null and s.holder is distinct from p_dead and skein.is_living(s.holder) then
    select * into w from skein.workers where id = s.holder;
    return json_build_object('name', coalesce(s.name, s.id), 'since', s.acquired_at, 'holder', row_to_json(w));
  end if;
  if not exists (select 1 from skein.workers where id = p_worker) then return json_build_object('unregistered', true); end if;
  update skein.sessions set epoch = s.epoch + 1, holder = p_worker, state = null, acquired_at = skein.now_ms() where n = s.n;
  return json_build_object('epoch', s.epoch + 1);
end $$;

create function skein.release(p_session text, p_epoch bigint) returns json language plpgsql as $$
begin
  update skein.sessions set holder = null where id = p_session and epoch = p_epoch;
  return 'null'::json;
end $$;

create function skein.set_state(p_session text, p_epoch bigint, p_state text) returns json language plpgsql as $$
declare t skein.target := skein.locked(p_session, p_epoch);
begin
  update skein.sessions set state = p_state where n = t.n;
  return 'null'::json;
end $$;

-- Adds or renews the row of a process. "worker" has the columns of the table.
create function skein.register(p_worker text) returns json language plpgsql as $$
declare j json := p_worker::json;
begin
  insert into skein.workers (id, machine, boot, namespace, pid, started, address, slots, labels, version, ttl_ms)
  values (j ->> 'id', j ->> 'machine', j ->> 'boot', j ->> 'namespace', (j ->> 'pid')::int, j ->> 'started', j ->> 'address',
    (j ->> 'slots')::int, j ->> 'labels', j ->> 'version', (j ->> 'ttlMs')::int)
  on conflict (id) do update set seen_at = clock_timestamp(), address = excluded.address, slots = excluded.slots, labels = excluded.labels;
  return 'null'::json;
end $$;

-- Takes the sessions of a worker away. The epoch goes up, so that nothing of it is written any more.
create function skein.drop_worker(p_worker text) returns json language plpgsql as $$
declare reaped json;
begin
  with freed as (
    update skein.sessions set epoch = epoch + 1, holder = null, state = null where holder = p_worker returning id, epoch
  ) select coalesce(json_agg(json_build_object('session', id, 'epoch', epoch, 'worker', p_worker)), '[]') into reaped from freed;
  delete from skein.workers where id = p_worker;
  return reaped;
end $$;

-- One heartbeat. "held" is a JSON list of [session, epoch]: what the process really runs. What the database has under its
-- name and is not on the list is given back, unless it was acquired after the list was made. Reaps workers that are silent.
create function skein.beat(p_worker text, p_held text, p_listed_at bigint) returns json language plpgsql as $$
declare lost json; draining boolean; reaped jsonb := '[]'; silent record;
begin
  update skein.workers set seen_at = clock_timestamp() where id = p_worker returning is_draining into draining;
  if not found then
    return json_build_object('known', false, 'draining', false, 'reaped', '[]'::json, 'now', skein.now_ms(),
      'lost', (select coalesce(json_agg(h -> 0), '[]') from json_array_elements(p_held::json) h));
  end if;
  select coalesce(json_agg(h -> 0), '[]') into lost from json_array_elements(p_held::json) h
    where not exists (select 1 from skein.sessions s where s.id = h ->> 0 and s.epoch = (h ->> 1)::bigint and s.holder = p_worker);
  update skein.sessions s set epoch = epoch + 1, holder = null, state = null
    where s.holder = p_worker and s.acquired_at < p_listed_at
      and not exists (select 1 from json_array_elements(p_held::json) h where s.id = h ->> 0 and s.epoch = (h ->> 1)::bigint);
  for silent in
    select id from skein.workers w where w.id <> p_worker
      and clock_timestamp() - greatest(w.seen_at, pg_postmaster_start_time()) > make_interval(secs => w.ttl_ms / 1000.0)
    for update skip locked
  loop
    reaped := reaped || skein.drop_worker(silent.id)::jsonb;
  end loop;
  return json_build_object('known', true, 'draining', draining, 'reaped', reaped, 'lost', lost, 'now', skein.now_ms());
end $$;
`;
