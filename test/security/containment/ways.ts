// The ways in which a command may try to outlive its end: what every Debian can run (bash, coreutils, util-linux,
// perl-base). Every process that a way leaves carries its sign in its arguments, so that the test finds it from outside.

export type EscapeWay = {
  name: string;
  /** Starts what should outlive it and says so by `${ready}`; after it the command waits in the foreground. */
  script: (at: EscapeContext) => string;
};

export type EscapeContext = {
  /** A duration for sleep that no other process has. */
  sign: string;
  /** A command that says that the way has begun. */
  ready: string;
  /** A file that the way writes to for as long as it lives. */
  beat: string;
  /** A name for files of its own. */
  file: string;
};

const beating = ({ beat, sign }: EscapeContext, pause = "0.1") => `while :; do echo >> ${beat}; sleep ${pause}; done # ${sign}`;

/** Each leaves as soon as it has a child, within a millisecond or two; after fifty thousand it is over anyway. */
const hopping = (sign: string, beat: string, then = "") =>
  `$0 = "hop ${sign}"; for (1 .. 50000) { exit if fork; ${then} open B, ">>", "${beat}"; print B "."; close B; select undef, undef, undef, 0.001 }`;

export const ways: readonly EscapeWay[] = [
  { name: "the shell itself", script: ({ ready, sign }) => `${ready}; exec sleep ${sign}` },
  { name: "a background job", script: ({ ready, sign }) => `sleep ${sign} & ${ready}` },
  { name: "jobs with groups of their own", script: ({ ready, sign }) => `set -m; sleep ${sign} & sleep ${sign} & ${ready}` },
  { name: "disown", script: ({ ready, sign }) => `sleep ${sign} & disown -a; ${ready}` },
  { name: "nohup", script: ({ ready, sign }) => `nohup sleep ${sign} > /dev/null 2>&1 & ${ready}` },
  { name: "a double fork", script: ({ ready, sign }) => `( ( sleep ${sign} & ) & ); ${ready}` },
  { name: "setsid", script: ({ ready, sign }) => `setsid sleep ${sign} & ${ready}` },
  { name: "setsid that forks", script: ({ ready, sign }) => `setsid --fork sleep ${sign}; ${ready}` },
  { name: "setsid after setsid", script: ({ ready, sign }) => `setsid -f setsid -f setsid -f sleep ${sign}; ${ready}` },
  {
    name: "a double fork into a new session",
    script: ({ ready, sign }) => `( ( setsid nohup sleep ${sign} > /dev/null 2>&1 & ) & ); ${ready}`,
  },
  { name: "closed streams", script: ({ ready, sign }) => `setsid -f sleep ${sign} <&- >&- 2>&-; ${ready}` },
  { name: "another directory", script: ({ ready, sign }) => `( cd / && setsid -f sleep ${sign} > /dev/null 2>&1 ); ${ready}` },
  { name: "another name", script: ({ ready, sign }) => `( exec -a '[kworker/0:1]' sleep ${sign} ) & ${ready}` },
  {
    name: "a daemon that changes all its arguments",
    script: ({ ready, sign }) =>
      `perl -MPOSIX -e 'exit if fork; setsid; exit if fork; chdir "/"; close $_ for *STDIN, *STDOUT, *STDERR; $0 = "[rcu] ${sign}"; sleep 86400 while 1'; ${ready}`,
  },
  { name: "an empty environment", script: ({ ready, sign }) => `env -i sleep ${sign} & ${ready}` },
  { name: "an empty environment in a new session", script: ({ ready, sign }) => `( env -i setsid -f sleep ${sign} & ); ${ready}` },
  {
    name: "an empty environment, a new session, another directory, closed streams",
    script: ({ ready, sign }) => `( cd / && exec env -i setsid -f setsid -f sleep ${sign} <&- >&- 2>&- ); ${ready}`,
  },
  {
    name: "an empty environment, a new session, other limits",
    script: ({ ready, sign }) => `( env -i prlimit --msgqueue=819200 setsid -f setsid -f sleep ${sign} & ); ${ready}`,
  },
  {
    name: "ignored signals",
    script: ({ ready, sign }) =>
      `( trap '' TERM HUP INT QUIT USR1 PIPE; ${ready}; while :; do sleep ${sign}; done ) & trap '' TERM HUP INT`,
  },
  {
    name: "ignored signals in a new session",
    script: ({ ready, sign }) => `setsid -f bash -c "trap '' TERM HUP INT; ${ready}; while :; do sleep ${sign}; done"`,
  },
  {
    name: "a fork at every SIGTERM",
    script: ({ ready, sign }) =>
      `setsid -f bash -c "again() { setsid -f sleep ${sign}; }; trap again TERM HUP INT; ${ready}; while :; do sleep 0.2; done # ${sign}"`,
  },
  { name: "a daemon started at the end", script: ({ ready, sign }) => `trap 'env -i setsid -f sleep ${sign}' EXIT TERM; ${ready}` },
  {
    name: "a loop that starts its child again",
    script: ({ ready, sign }) => `setsid -f bash -c "trap '' TERM; ${ready}; while :; do setsid sleep ${sign}; done"`,
  },
  {
    name: "two that start each other again",
    script: ({ ready, sign, file }) => `cat > ${file}.sh <<'END'
trap '' TERM HUP INT
echo $$ > "$1.$2"
[ "$2" = b ] || ${ready}
while :; do
  read -r other < "$1.$3" && kill -0 "$other" || setsid -f bash "$1.sh" "$1" "$3" "$2" "$4"
  sleep 0.1
done 2> /dev/null
END
setsid -f bash ${file}.sh ${file} a b ${sign}`,
  },
  {
    name: "a storm of two hundred",
    script: ({ ready, sign }) => `for each in {1..100}; do sleep ${sign} & setsid sleep ${sign} & done; ${ready}`,
  },
  {
    name: "a tree of forks",
    script: ({ ready, sign, file }) => `cat > ${file}.sh <<'END'
[ "$2" = 0 ] && exec sleep "$3"
for each in 1 2; do setsid bash "$1" "$1" $(($2 - 1)) "$3" & done
wait
END
bash ${file}.sh ${file}.sh 4 ${sign} & ${ready}`,
  },
  {
    name: "a chain of parents that leave",
    script: ({ ready, sign, file }) => `cat > ${file}.sh <<'END'
[ "$2" = 0 ] && { ${ready}; exec sleep "$3"; }
setsid bash "$1" "$1" $(($2 - 1)) "$3" &
END
bash ${file}.sh ${file}.sh 10 ${sign}`,
  },
  {
    name: "a process that is never the same",
    script: ({ ready, sign, beat }) => `perl -e '${hopping(sign, beat)}'; ${ready}`,
  },
  {
    name: "a process that is never the same, each in a session of its own",
    script: ({ ready, sign, beat }) => `perl -MPOSIX -e '${hopping(sign, beat, "setsid;")}'; ${ready}`,
  },
  { name: "stopped", script: ({ ready, sign }) => `( exec bash -c '${ready}; kill -STOP $$; sleep ${sign}' ) &` },
  { name: "stopped in a new session", script: ({ ready, sign }) => `setsid -f bash -c '${ready}; kill -STOP $$; sleep ${sign}'` },
  {
    name: "noise in the output",
    script: ({ ready, sign }) => `setsid -f bash -c '${ready}; while :; do echo noise; sleep 0.1; done # ${sign}'`,
  },
  { name: "writing to a file", script: (at) => `setsid -f bash -c '${at.ready}; ${beating(at)}\n' > /dev/null 2>&1` },
  {
    name: "whoever waits for a lock",
    script: (at) => `flock ${at.file}.lock sleep ${at.sign} & while flock -n ${at.file}.lock true; do sleep 0.02; done
setsid -f flock ${at.file}.lock bash -c '${beating(at)}\n'; ${at.ready}`,
  },
  {
    name: "zombies",
    script: ({ ready, sign }) => `perl -e '$0 = "zombies ${sign}"; for (1 .. 20) { exit unless fork } sleep 86400 while 1' & ${ready}`,
  },
  { name: "a coprocess", script: ({ ready, sign }) => `coproc sleep ${sign}; ${ready}` },
  { name: "a process substitution", script: ({ ready, sign }) => `exec 9> >(exec sleep ${sign}); ${ready}` },
  { name: "a pipeline", script: ({ ready, sign }) => `tail -f /dev/null | sleep ${sign} & ${ready}` },
  {
    name: "a reader of a pipe that nobody writes",
    script: ({ ready, sign, file }) => `mkfifo ${file}.${sign}; setsid -f cat ${file}.${sign}; ${ready}`,
  },
  { name: "a terminal of its own", script: ({ ready, sign }) => `script -qfc "sleep ${sign}" /dev/null > /dev/null 2>&1 & ${ready}` },
  { name: "timeout", script: ({ ready, sign }) => `timeout -k 86400 86400 sleep ${sign} & ${ready}` },
  { name: "a user namespace", script: ({ ready, sign }) => `{ unshare -U sleep ${sign} || sleep ${sign}; } 2> /dev/null & ${ready}` },
  {
    name: "a pid namespace",
    script: ({ ready, sign }) =>
      `setsid -f bash -c 'unshare -r --pid --fork setsid -f sleep ${sign} || exec sleep ${sign}' 2> /dev/null; ${ready}`,
  },
];
