// Ordinary work that must succeed in the sandbox: users switch off a sandbox that breaks it. Throws the problem.
import { spawnSync } from "node:child_process";
import * as fs from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { call } from "./calls.ts";
import type { Attempt, World } from "./world.ts";

const work = (name: string, run: (world: World) => unknown): Attempt => ({ name, kind: "work", run });
const shell = (name: string, script: string): Attempt => work(name, () => shellRuns(script));

export const works: Attempt[] = [
  work("work-write-project", ({ project }) => writeAndRead(join(project, "made/work"))),
  work("work-write-temp", () => {
    if (process.env["TMPDIR"] === undefined) throw new Error("TMPDIR is not set");
    writeAndRead(join(process.env["TMPDIR"], "work"));
  }),
  work("work-write-tmp", ({ token }) => writeAndRead(`/tmp/work-${token}`)),
  work("work-read-tmp", ({ token }) => fs.readFileSync(`/tmp/skein-escape-${token}/readable`, "utf8")),
  work("work-cache", ({ home }) => writeAndRead(join(home, ".cache/tool/from-inside"))),
  work("work-read-cache", ({ home }) => fs.readFileSync(join(home, ".cache/tool/there-before"), "utf8")),
  work("work-write-plan", ({ project }) => fs.writeFileSync(join(project, ".skein/plan.md"), "a plan")),
  work("work-read-skills", ({ own }) => fs.readFileSync(join(own.config, "skills/one/SKILL.md"), "utf8")),
  work("work-read-agents-file", ({ own }) => fs.readFileSync(join(own.config, "AGENTS.md"), "utf8")),
  work("work-read-home", ({ home }) => fs.readFileSync(join(home, ".profile"), "utf8")),
  shell("work-git-status", "git status --porcelain"),
  shell(
    "work-git-commit",
    "echo $RANDOM >made-by-commit && git add made-by-commit && git -c user.name=a -c user.email=a@b commit -qm work",
  ),
  shell("work-git-branch", "git branch side-$RANDOM && git stash list && git log -1 --oneline"),
  shell("work-mktemp", 'file=$(mktemp) && echo x >"$file"'),
  shell("work-here-document", "cat <<<\"$(head -c 200000 /dev/zero | tr '\\0' x)\" | wc -c"),
  shell("work-process-substitution", "diff <(echo a) <(echo a)"),
  shell("work-pipes-and-jobs", "sleep 0.01 & wait; echo a | cat"),
  shell("work-dev-null", "echo x >/dev/null && head -c 1 /dev/urandom >/dev/null"),
  shell("work-dev-shm", "echo x >/dev/shm/work && rm /dev/shm/work"),
  shell("work-read-usr", "ls /usr/bin >/dev/null && cat /etc/passwd >/dev/null"),
  shell("work-signal-own", "sleep 30 & kill $!; wait $!; test $? = 143"),
  work("work-terminal", () => openTerminal()),
  work("work-local-server", () => connectToSelf()),
  work("work-socket-pair", () => {
    const pair = new Int32Array(2);
    call("socketpair", 1, 1, 0, pair);
    fs.writeSync(pair[0]!, "x");
  }),
  work("work-names-of-interfaces", () => call("close", call("socket", 16, 3, 0))),
];

function writeAndRead(path: string): void {
  fs.mkdirSync(join(path, ".."), { recursive: true });
  fs.writeFileSync(path, "work");
  if (fs.readFileSync(path, "utf8") !== "work") throw new Error("it reads differently");
}

function shellRuns(script: string): string {
  const { status, stdout, stderr } = spawnSync("bash", ["-c", script], { encoding: "utf8", timeout: 20_000 });
  if (status !== 0) throw new Error(`exit ${status}: ${stderr.trim()}`);
  return stdout.slice(0, 200);
}

/** Opens a terminal as `script` does. */
function openTerminal(): void {
  const master = fs.openSync("/dev/ptmx", fs.constants.O_RDWR | fs.constants.O_NOCTTY);
  call("ioctl", master, 0x4004_5431, new Int32Array([0]));
  const number = new Int32Array(1);
  call("ioctl", master, 0x8004_5430, number);
  const terminal = fs.openSync(`/dev/pts/${number[0]}`, fs.constants.O_RDWR | fs.constants.O_NOCTTY);
  fs.writeSync(terminal, "x");
  fs.closeSync(terminal);
  fs.closeSync(master);
}

async function connectToSelf(): Promise<void> {
  const server = createServer((socket) => socket.end("hello"));
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.on("error", reject).listen(0, "127.0.0.1", () => {
    const { port } = server.address() as { port: number };
    connect(port, "127.0.0.1")
      .on("error", reject)
      .on("data", () => resolve());
  });
  await promise.finally(() => server.close());
}
