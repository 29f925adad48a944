// The fleet's own tables, beside those of the store. A step is never changed once it has been released; new ones follow.
// In `runs`, `most` is the largest number of attempts, `why` the reason of the state for people, and `dead` the state of a failed
// run that no worker takes again. In `caps`, `most` is the largest number of an owner's runs at a time.
import type { Migration } from "../store/postgres/schema/migrate.ts";

export const fleetMigrations: Migration[] = [
  {
    name: "runs, packs, schedules and frames",
    sql: `
create table skein.runs (
  id text primary key,
  session text not null,
  owner text not null,
  title text not null,
  project text not null,
  queue text not null,
  job text not null,
  priority int not null default 0,
  state text not null check (state in ('waiting', 'running', 'done', 'dead')),
  attempts int not null default 0,
  most int not null default 3,
  worker text,
  why text,
  head text,
  left_out text not null default '[]',
  protocol int not null,
  submitted_at timestamptz not null default clock_timestamp(),
  started_at timestamptz,
  ended_at timestamptz
);
create index runs_by_session on skein.runs (session);
create index runs_open on skein.runs (state) where state in ('waiting', 'running');
create table skein.caps (owner text primary key, most int not null check (most > 0));
create table skein.packs (
  session text not null,
  n int not null,
  epoch bigint not null,
  commit_id text not null,
  base text,
  tree text not null,
  recorded text not null,
  bytes bytea not null,
  at timestamptz not null default clock_timestamp(),
  primary key (session, n)
);
alter table skein.packs alter column bytes set storage external;
create table skein.schedules (
  name text primary key,
  cron text not null,
  tz text not null,
  owner text not null,
  project text not null,
  session text not null,
  queue text not null,
  priority int not null,
  request text not null,
  created_at timestamptz not null default clock_timestamp()
);
create unlogged table skein.frames (
  n bigint generated always as identity primary key,
  recipient text not null,
  sender text not null,
  connection text not null,
  position int not null,
  body text,
  at timestamptz not null default clock_timestamp()
);
create index frames_by_recipient on skein.frames (recipient, n);
`,
  },
  {
    name: "times of schedules",
    sql: "alter table skein.schedules add column last_time text, add column last_job text;",
  },
];
