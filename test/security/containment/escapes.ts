// Commands that try to outlive their end. They need only programs of every Debian (bash, coreutils, util-linux, perl-base).
// Every process of an escape has its tag in its arguments, so that the test finds it from outside.

import { join } from "node:path";

const withoutFirstThread = join(import.meta.dir, "../../../src/kit/process/fixtures/without-first-thread.ts");

export type Escape = {
  name: string;
  /** Starts processes that should outlive the command, then runs `${ready}`. The command then waits in the foreground. */
  script: (context: EscapeContext) => string;
};

export type EscapeContext = {
  /** A duration for sleep that no other process has. */
  tag: string;
  /** A command that reports that the escape has started. */
  ready: string;
  /** A file that the escape writes to as long as it runs. */
  beat: string;
  /** A prefix for names of its own files. */
  file: string;
};

const writeLoop = ({ beat, tag }: EscapeContext, pause = "0.1") => `while :; do echo >> ${beat}; sleep ${pause}; done # ${tag}`;

/** Each process exits as soon as it has a child, after 1 to 2 ms. The chain ends after 50,000 processes. */
const forkChain = (tag: string, beat: string, then = "") =>
  `$0 = "hop ${tag}"; for (1 .. 50000) { exit if fork; ${then} open B, ">>", "${beat}"; print B "."; close B; select undef, undef, undef, 0.001 }`;

export const escapes: readonly Escape[] = [
  { name: "the shell itself", script: ({ ready, tag }) => `${ready}; exec sleep ${tag}` },
  { name: "a background job", script: ({ ready, tag }) => `sleep ${tag} & ${ready}` },
  { name: "jobs with groups of their own", script: ({ ready, tag }) => `set -m; sleep ${tag} & sleep ${tag} & ${ready}` },
  { name: "disown", script: ({ ready, tag }) => `sleep ${tag} & disown -a; ${ready}` },
  { name: "nohup", script: ({ ready, tag }) => `nohup sleep ${tag} > /dev/null 2>&1 & ${ready}` },
  { name: "a double fork", script: ({ ready, tag }) => `( ( sleep ${tag} & ) & ); ${ready}` },
  { name: "setsid", script: ({ ready, tag }) => `setsid sleep ${tag} & ${ready}` },
  { name: "setsid that forks", script: ({ ready, tag }) => `setsid --fork sleep ${tag}; ${ready}` },
  { name: "setsid after setsid", script: ({ ready, tag }) => `setsid -f setsid -f setsid -f sleep ${tag}; ${ready}` },
  {
    name: "a double fork into a new session",
    script: ({ ready, tag }) => `( ( setsid nohup sleep ${tag} > /dev/null 2>&1 & ) & ); ${ready}`,
  },
  { name: "closed streams", script: ({ ready, tag }) => `setsid -f sleep ${tag} <&- >&- 2>&-; ${ready}` },
  { name: "another directory", script: ({ ready, tag }) => `( cd / && setsid -f sleep ${tag} > /dev/null 2>&1 ); ${ready}` },
  { name: "another name", script: ({ ready, tag }) => `( exec -a '[kworker/0:1]' sleep ${tag} ) & ${ready}` },
  {
    name: "a daemon that changes all its arguments",
    script: ({ ready, tag }) =>
      `perl -MPOSIX -e 'exit if fork; setsid; exit if fork; chdir "/"; close $_ for *STDIN, *STDOUT, *STDERR; $0 = "[rcu] ${tag}"; sleep 86400 while 1'; ${ready}`,
  },
  {
    name: "a process whose first thread has ended",
    script: ({ ready, beat, file }) =>
      `setsid -f ${process.execPath} ${withoutFirstThread} ${beat} ${file}.on; while [ ! -e ${file}.on ]; do sleep 0.1; done; ${ready}`,
  },
  { name: "an empty environment", script: ({ ready, tag }) => `env -i sleep ${tag} & ${ready}` },
  { name: "an empty environment in a new session", script: ({ ready, tag }) => `( env -i setsid -f sleep ${tag} & ); ${ready}` },
  {
    name: "an empty environment, a new session, another directory, closed streams",
    script: ({ ready, tag }) => `( cd / && exec env -i setsid -f setsid -f sleep ${tag} <&- >&- 2>&- ); ${ready}`,
  },
  {
    name: "an empty environment, a new session, other limits",
    script: ({ ready, tag }) => `( env -i prlimit --msgqueue=819200 setsid -f setsid -f sleep ${tag} & ); ${ready}`,
  },
  {
    name: "ignored signals",
    script: ({ ready, tag }) => `( trap '' TERM HUP INT QUIT USR1 PIPE; ${ready}; while :; do sleep ${tag}; done ) & trap '' TERM HUP INT`,
  },
  {
    name: "ignored signals in a new session",
    script: ({ ready, tag }) => `setsid -f bash -c "trap '' TERM HUP INT; ${ready}; while :; do sleep ${tag}; done"`,
  },
  {
    name: "a fork at every SIGTERM",
    script: ({ ready, tag }) =>
      `setsid -f bash -c "again() { setsid -f sleep ${tag}; }; trap again TERM HUP INT; ${ready}; while :; do sleep 0.2; done # ${tag}"`,
  },
  { name: "a daemon started at the end", script: ({ ready, tag }) => `trap 'env -i setsid -f sleep ${tag}' EXIT TERM; ${ready}` },
  {
    name: "a loop that starts its child again",
    script: ({ ready, tag }) => `setsid -f bash -c "trap '' TERM; ${ready}; while :; do setsid sleep ${tag}; done"`,
  },
  {
    name: "two that start each other again",
    script: ({ ready, tag, file }) => `cat > ${file}.sh <<'END'
trap '' TERM HUP INT
echo $$ > "$1.$2"
[ "$2" = b ] || ${ready}
while :; do
  read -r other < "$1.$3" && kill -0 "$other" || setsid -f bash "$1.sh" "$1" "$3" "$2" "$4"
  sleep 0.1
done 2> /dev/null
END
setsid -f bash ${file}.sh ${file} a b ${tag}`,
  },
  {
    name: "a storm of two hundred",
    script: ({ ready, tag }) => `for each in {1..100}; do sleep ${tag} & setsid sleep ${tag} & done; ${ready}`,
  },
  {
    name: "a tree of forks",
    script: ({ ready, tag, file }) => `cat > ${file}.sh <<'END'
[ "$2" = 0 ] && exec sleep "$3"
for each in 1 2; do setsid bash "$1" "$1" $(($2 - 1)) "$3" & done
wait
END
bash ${file}.sh ${file}.sh 4 ${tag} & ${ready}`,
  },
  {
    name: "a chain of parents that leave",
    script: ({ ready, tag, file }) => `cat > ${file}.sh <<'END'
[ "$2" = 0 ] && { ${ready}; exec sleep "$3"; }
setsid bash "$1" "$1" $(($2 - 1)) "$3" &
END
bash ${file}.sh ${file}.sh 10 ${tag}`,
  },
  {
    name: "a chain of forks",
    script: ({ ready, tag, beat }) => `perl -e '${forkChain(tag, beat)}'; ${ready}`,
  },
  {
    name: "a chain of forks, each in its own session",
    script: ({ ready, tag, beat }) => `perl -MPOSIX -e '${forkChain(tag, beat, "setsid;")}'; ${ready}`,
  },
  { name: "stopped", script: ({ ready, tag }) => `( exec bash -c '${ready}; kill -STOP $$; sleep ${tag}' ) &` },
  { name: "stopped in a new session", script: ({ ready, tag }) => `setsid -f bash -c '${ready}; kill -STOP $$; sleep ${tag}'` },
  {
    name: "noise in the output",
    script: ({ ready, tag }) => `setsid -f bash -c '${ready}; while :; do echo noise; sleep 0.1; done # ${tag}'`,
  },
  { name: "writing to a file", script: (context) => `setsid -f bash -c '${context.ready}; ${writeLoop(context)}\n' > /dev/null 2>&1` },
  {
    name: "a process that waits for a lock",
    script: (context) => `flock ${context.file}.lock sleep ${context.tag} & while flock -n ${context.file}.lock true; do sleep 0.02; done
setsid -f flock ${context.file}.lock bash -c '${writeLoop(context)}\n'; ${context.ready}`,
  },
  {
    name: "zombies",
    script: ({ ready, tag }) => `perl -e '$0 = "zombies ${tag}"; for (1 .. 20) { exit unless fork } sleep 86400 while 1' & ${ready}`,
  },
  { name: "a coprocess", script: ({ ready, tag }) => `coproc sleep ${tag}; ${ready}` },
  { name: "a process substitution", script: ({ ready, tag }) => `exec 9> >(exec sleep ${tag}); ${ready}` },
  { name: "a pipeline", script: ({ ready, tag }) => `tail -f /dev/null | sleep ${tag} & ${ready}` },
  {
    name: "a reader of a pipe that nobody writes",
    script: ({ ready, tag, file }) => `mkfifo ${file}.${tag}; setsid -f cat ${file}.${tag}; ${ready}`,
  },
  { name: "a terminal of its own", script: ({ ready, tag }) => `script -qfc "sleep ${tag}" /dev/null > /dev/null 2>&1 & ${ready}` },
  { name: "timeout", script: ({ ready, tag }) => `timeout -k 86400 86400 sleep ${tag} & ${ready}` },
  { name: "a user namespace", script: ({ ready, tag }) => `{ unshare -U sleep ${tag} || sleep ${tag}; } 2> /dev/null & ${ready}` },
  {
    name: "a pid namespace",
    script: ({ ready, tag }) =>
      `setsid -f bash -c 'unshare -r --pid --fork setsid -f sleep ${tag} || exec sleep ${tag}' 2> /dev/null; ${ready}`,
  },
];
