// Creates the tables in numbered migrations. A released migration is never changed: add a new one at the end.
// Rows refer to each other by row number. Users and other modules see only ids. The row number of a node is made of its tree's
// number and its own number in the tree. So a tree is contiguous on the disk, even if many trees grow at once.
import { Fault } from "../../protocol/api/error.ts";
import type { Db } from "./db.ts";

/** Two processes may open a new file at once. Only one of them runs the migrations. */
export async function migrate(db: Db): Promise<void> {
  const current = versionOf(db);
  if (current === migrations.length) return;
  refuseNewer(db, current);
  db.exec("pragma journal_mode = wal");
  await db.write(() => {
    const version = versionOf(db);
    refuseNewer(db, version);
    if (version === 0) refuseForeign(db);
    for (const migration of migrations.slice(version)) db.exec(migration);
    db.exec(`pragma user_version = ${migrations.length}`);
  });
}

function versionOf(db: Db): number {
  return db.row<{ user_version: number }>`pragma user_version`?.user_version ?? 0;
}

function refuseNewer(db: Db, version: number): void {
  if (version <= migrations.length) return;
  throw new Fault(
    "store-newer",
    `the store ${db.path} was written by a newer skein (layout ${version}, this one supports ${migrations.length})`,
    {
      hint: "update skein, or point SKEIN_HOME at another directory",
    },
  );
}

function refuseForeign(db: Db): void {
  const row = db.row<{ count: number }>`select count(*) as count from sqlite_schema`;
  if (row?.count === 0) return;
  throw new Fault("store-broken", `the file ${db.path} is a database of another program`, {
    hint: "move the file away, or point SKEIN_HOME at another directory",
  });
}

/** The row number of a node is `tree * nodesPerTree + its number in the tree`. 33 million trees of 268 million nodes fit a double exactly. */
export const nodesPerTree = 2 ** 28;

/** The searched text of a node: its words without the JSON syntax, at most 64 Ki characters. */
const nodeText = `
  select n, substr((
    select group_concat(case p.value ->> 'kind'
      when 'call' then (p.value ->> 'name') || ' ' || coalesce(p.value ->> 'malformed', (
        select group_concat(t.atom, ' ') from json_tree(p.value, '$.input') t where t.atom is not null), '')
      when 'handle' then p.value ->> 'excerpt'
      when 'image' then null
      else p.value ->> 'text' end, char(10))
    from json_each(nodes.body, '$.parts') p), 1, 65536) as text
  from nodes`;

const migrations = [
  `
  create table trees (
    n integer primary key,
    id text not null unique,
    created_at integer not null,
    last integer not null default 0,
    indexed integer not null default 0,
    stale integer not null default 0
  );
  create index trees_to_index on trees (n) where stale = 1;

  create table sessions (
    n integer primary key,
    id text not null unique,
    tree integer not null,
    tip integer,
    seq integer not null default 0,
    outputs integer not null default 0,
    name text,
    agent text not null,
    model text,
    directory text not null,
    project text not null,
    task text,
    tool_level text not null,
    parent_session text,
    forked_session text,
    forked_node text,
    transcript text,
    created_at integer not null,
    updated_at integer not null,
    archived_at integer
  );
  create unique index sessions_by_name on sessions (project, name) where name is not null and archived_at is null;
  create index sessions_by_any_name on sessions (name) where name is not null;
  create index sessions_by_project on sessions (project);
  create index sessions_by_tree on sessions (tree);
  create index sessions_by_parent on sessions (parent_session) where parent_session is not null;
  create index sessions_by_tail on sessions (substr(id, -4));

  create table turns (
    n integer primary key,
    id text not null unique,
    session integer not null,
    parent integer,
    tip integer,
    agent text not null,
    model text,
    native_id text,
    policy text not null,
    enforced text,
    input integer not null default 0,
    output integer not null default 0,
    cache_read integer not null default 0,
    cache_write integer not null default 0,
    cost_usd real not null default 0,
    unpriced integer not null default 0,
    steps integer not null default 0,
    started_at integer not null,
    ended_at integer,
    status text,
    error text
  );
  create index turns_by_session on turns (session);
  create index turns_by_native on turns (native_id) where native_id is not null;

  create table nodes (
    n integer primary key,
    parent integer,
    session integer not null,
    turn integer,
    at integer not null,
    id text not null unique,
    body text not null
  );
  create index nodes_by_parent on nodes (parent);
  create index nodes_by_tail on nodes (substr(id, -4));

  create table events (
    session integer not null,
    seq integer not null,
    kind integer not null,
    turn integer,
    node integer,
    at integer not null,
    primary key (session, seq)
  ) without rowid;

  create table leases (
    session integer primary key,
    epoch integer not null,
    boot text,
    namespace text,
    pid integer,
    started text,
    socket text,
    acquired_at integer
  );

  create table drafts (turn integer not null, key text not null, text text not null, primary key (turn, key));

  create table handles (
    session integer not null,
    n integer not null,
    call text not null,
    source text not null,
    opened_at integer not null,
    closed_at integer,
    bytes integer,
    kept_bytes integer,
    head_bytes integer,
    sha256 text,
    metadata text,
    primary key (session, n)
  ) without rowid;

  create view node_text as ${nodeText};
  create virtual table words using fts5 (
    text, content = 'node_text', content_rowid = 'n', tokenize = "unicode61 remove_diacritics 2 tokenchars '_'"
  );
  `,
  `
  alter table sessions add column purged_at integer;
  create index sessions_purged on sessions (tree) where purged_at is not null;
  `,
  `
  alter table sessions add column source text;
  alter table turns add column source text;
  create index sessions_by_source on sessions (json_extract(source, '$.nativeId')) where source is not null;
  `,
  `
  create table turn_files (turn integer primary key, project text not null, before text not null, after text);
  create trigger turn_files_go after delete on turns begin delete from turn_files where turn = old.n; end;
  `,
  `
  alter table sessions add column plan text;
  `,
  `
  alter table turns add column cli text;
  create index turns_by_tip on turns (tip) where native_id is not null;
  `,
  `
  alter table leases add column state text;
  alter table events add column item integer;
  create index turns_open on turns (n) where ended_at is null;
  create index turns_by_end on turns (ended_at);
  create table asks (
    n integer primary key, id text not null unique, session integer not null, turn integer not null, call text,
    question text not null, options text not null, opened_at integer not null, expires_at integer,
    closed_at integer, outcome text, answer text
  );
  create index asks_by_session on asks (session);
  create index asks_open on asks (n) where closed_at is null;
  create table inputs (
    n integer primary key, id text not null unique, session integer not null, text text not null,
    queued_at integer not null, queued_seq integer not null, taken_seq integer
  );
  create index inputs_by_session on inputs (session);
  create trigger controls_go after delete on sessions begin
    delete from asks where session = old.n;
    delete from inputs where session = old.n;
  end;
  `,
  `
  create table descriptions (
    session integer not null, wish text not null, stamp text not null, body text not null, primary key (session, wish)
  ) without rowid;
  create table told (asker text not null, hit text not null, at integer not null, primary key (asker, hit)) without rowid;
  create index told_by_time on told (at);
  `,
  `
  alter table turns add column role text;
  `,
  `
  alter table turns add column budget text;
  `,
  `
  create table call_files (
    first text primary key, turn integer not null, last text, project text not null, before text, after text, paths text,
    started_at integer not null, ended_at integer
  ) without rowid;
  create index call_files_by_turn on call_files (turn);
  create index call_files_by_project on call_files (project, started_at);
  create index turn_files_by_project on turn_files (project);
  create trigger call_files_go after delete on turns begin delete from call_files where turn = old.n; end;
  `,
  `
  alter table sessions add column undone text;
  `,
  `
  alter table turns add column check_task text;
  alter table turns add column loop text;
  alter table turns add column checked text;
  `,
  `
  alter table sessions add column worktree text;
  create index sessions_by_worktree on sessions (worktree ->> '$.project') where worktree is not null;
  create table worktrees (
    n integer primary key, project text not null, name text not null, directory text not null unique, branch text not null,
    base text not null, files text, port integer not null, linked text not null, setup text not null,
    created_at integer not null, merged_at integer, merging text, unique (project, name)
  );
  `,
  `
  alter table worktrees add column copied text not null default '[]';
  `,
  // Rows of other kinds than 'message' are turns that start later, or, with `turn`, turns that a later hub may continue.
  `
  alter table inputs add column kind text not null default 'message';
  alter table inputs add column request text;
  alter table inputs add column caller text;
  alter table inputs add column credential text;
  alter table inputs add column wake_at integer;
  alter table inputs add column give_up_at integer;
  alter table inputs add column attempt integer not null default 0;
  alter table inputs add column problem text;
  alter table inputs add column turn integer;
  create index inputs_pending on inputs (n) where kind <> 'message' and turn is null;
  create index inputs_started on inputs (turn) where turn is not null;
  `,
];
