// The tables of the store in Postgres. Rows refer to each other by number, as in SQLite; the number of a node is made of its
// tree's number and its own number in the tree. Texts of nodes and turns are text, never jsonb: that refuses NUL.

export const tables = `
create table skein.workers (
  id text primary key, machine text not null, boot text not null, namespace text not null, pid integer not null,
  started text not null, address text, slots integer not null default 0, labels text not null default '[]',
  version text not null default '', is_draining boolean not null default false, ttl_ms integer not null,
  started_at timestamptz not null default clock_timestamp(), seen_at timestamptz not null default clock_timestamp()
);
create index workers_by_time on skein.workers (seen_at);

create table skein.trees (
  n bigint generated always as identity primary key, id text not null unique, created_at bigint not null,
  last bigint not null default 0, indexed bigint not null default 0, stale boolean not null default false
);
create index trees_to_index on skein.trees (n) where stale;

create table skein.sessions (
  n bigint generated always as identity primary key, id text not null unique, tree bigint not null, tip bigint,
  seq bigint not null default 0, outputs bigint not null default 0, name text, agent text not null, model text,
  directory text not null, project text not null, task text, tool_level text not null, parent_session text,
  forked_session text, forked_node text, transcript text, plan text, source text, source_id text, undone text,
  worktree text, worktree_project text, worktree_name text,
  created_at bigint not null, updated_at bigint not null, archived_at bigint, purged_at bigint,
  epoch bigint not null default 0, holder text, state text, acquired_at bigint
) with (fillfactor = 80);
create unique index sessions_by_name on skein.sessions (project, name) where name is not null and archived_at is null;
create index sessions_by_any_name on skein.sessions (name) where name is not null;
create index sessions_by_project on skein.sessions (project);
create index sessions_by_tree on skein.sessions (tree);
create index sessions_by_parent on skein.sessions (parent_session) where parent_session is not null;
create index sessions_by_tail on skein.sessions (right(id, 4));
create index sessions_by_source on skein.sessions (source_id) where source_id is not null;
create index sessions_by_worktree on skein.sessions (worktree_project) where worktree_project is not null;
create index sessions_by_holder on skein.sessions (holder) where holder is not null;

-- "fields" and "end_fields" are JSON of the columns that no query reads: those of the start, and those of the end.
-- "end_key" tells an end that is sent twice.
create table skein.turns (
  n bigint generated always as identity primary key, id text not null unique, session bigint not null, parent bigint, tip bigint,
  agent text not null, model text, native_id text, fields text not null, end_fields text, end_key text, source text, loop text, budget text,
  input bigint not null default 0, output bigint not null default 0, cache_read bigint not null default 0,
  cache_write bigint not null default 0, cost_usd float8 not null default 0, unpriced bigint not null default 0,
  steps bigint not null default 0, started_at bigint not null, ended_at bigint, status text
) with (fillfactor = 80);
create index turns_by_session on skein.turns (session);
create index turns_by_native on skein.turns (native_id) where native_id is not null;
create index turns_by_tip on skein.turns (tip) where native_id is not null;
create index turns_open on skein.turns (n) where ended_at is null;
create index turns_by_end on skein.turns (ended_at);

create table skein.nodes (
  n bigint primary key, parent bigint, session bigint not null, turn bigint, at bigint not null, id text not null unique,
  author text not null, body text not null
);
create index nodes_by_parent on skein.nodes (parent);
create index nodes_by_tail on skein.nodes (right(id, 4));

create table skein.events (
  session bigint not null, seq bigint not null, kind smallint not null, turn bigint, node bigint, item bigint, at bigint not null,
  primary key (session, seq)
);

create table skein.draft_parts (
  turn bigint not null, key text not null, part integer not null, text text not null, n bigint generated always as identity,
  primary key (turn, key, part)
);

create table skein.handles (
  session bigint not null, n bigint not null, call text not null, source text not null, opened_at bigint not null,
  closed_at bigint, bytes bigint, kept_bytes bigint, head_bytes bigint, sha256 text, metadata text, primary key (session, n)
);
create table skein.blobs (
  session bigint not null, n bigint not null, part integer not null, bytes bytea not null, primary key (session, n, part)
);
alter table skein.blobs alter column bytes set storage external;

create table skein.asks (
  n bigint generated always as identity primary key, id text not null unique, session bigint not null, turn bigint not null,
  call text, question text not null, options text not null, opened_at bigint not null, expires_at bigint,
  closed_at bigint, outcome text, answer text
);
create index asks_by_session on skein.asks (session);
create index asks_open on skein.asks (n) where closed_at is null;

-- Rows of other kinds than 'message' are turns that start later, or, with "turn", turns that may be continued.
create table skein.inputs (
  n bigint generated always as identity primary key, id text not null unique, session bigint not null, text text not null,
  queued_at bigint not null, queued_seq bigint not null, taken_seq bigint, kind text not null default 'message',
  request text, caller text, credential text, wake_at bigint, give_up_at bigint, attempt integer not null default 0,
  problem text, turn bigint
);
create index inputs_by_session on skein.inputs (session);
create index inputs_pending on skein.inputs (n) where kind <> 'message' and turn is null;
create index inputs_started on skein.inputs (turn) where turn is not null;

create table skein.turn_files (turn bigint primary key, project text not null, before text not null, after text);
create index turn_files_by_project on skein.turn_files (project);
create table skein.call_files (
  first text primary key, turn bigint not null, last text, project text not null, before text, after text, paths text,
  started_at bigint not null, ended_at bigint
);
create index call_files_by_turn on skein.call_files (turn);
create index call_files_by_project on skein.call_files (project, started_at);

create table skein.worktrees (
  n bigint generated always as identity primary key, project text not null, name text not null, directory text not null unique,
  branch text not null, base text not null, files text, port integer not null, linked text not null, copied text not null,
  setup text not null, created_at bigint not null, merged_at bigint, merging text, unique (project, name)
);

create table skein.descriptions (
  session bigint not null, request text not null, stamp text not null, body text not null, primary key (session, request)
);
create table skein.shown_hits (asker text not null, hit text not null, at bigint not null, primary key (asker, hit));
create index shown_hits_by_time on skein.shown_hits (at);

create table skein.words (n bigint primary key, tokens tsvector not null);
create index words_by_token on skein.words using gin (tokens);
`;
