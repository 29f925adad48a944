import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CommandShell, type ShellCommand } from "./command-shell.ts";

let directory = "";
let shell: CommandShell;
const command = (script: string, options: Partial<ShellCommand> = {}): ShellCommand => ({
  argv: ["/bin/sh", "-c", script],
  cwd: "/",
  env: { PATH: "/usr/bin:/bin" },
  ...options,
});

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "skein-shell-"));
  shell = new CommandShell({ command: ["/bin/sh"], directory });
});
afterEach(() => {
  shell.close();
  rmSync(directory, { recursive: true, force: true });
});

test("a command gets its input, directory and variables, and its output, errors and status come back", async () => {
  const result = await shell.run(
    command('cat; pwd; echo "$A" >&2; exit 3', {
      cwd: "/usr",
      env: { PATH: "/usr/bin:/bin", A: "it's\n$(id)" },
      stdin: Buffer.from("in\0put\n"),
    }),
  );
  expect({ ...result, out: result.out.toString() }).toEqual({ code: 3, out: "in\0put\n/usr\n", err: "it's\n$(id)\n" });
  expect(readdirSync(directory)).toEqual([]);
});

test("commands run one after the other in the same shell", async () => {
  const results = await Promise.all([1, 2, 3].map((number) => shell.run(command(`echo ${number} $PPID`))));
  const parents = results.map(({ out }) => out.toString().trim().split(" ")[1]);
  expect(results.map(({ out }) => out.toString()[0])).toEqual(["1", "2", "3"]);
  expect(new Set(parents).size).toBe(1);
});

test("output is cut at the limit, and the status is that of the program", async () => {
  const cut = await shell.run(command("yes 1234567", { maxBytes: 20 }));
  expect(cut.out.toString()).toBe("1234567\n1234567\n1234");
  expect((await shell.run(command("echo short; exit 4", { maxBytes: 20 }))).code).toBe(4);
});

test("a command that is aborted returns its output so far, and the next command starts another shell", async () => {
  const abort = new AbortController();
  const hanging = shell.run(command("echo begun; exec sleep 60", { signal: abort.signal }));
  const waiting = shell.run(command("echo never"));
  const output = join(directory, "1.out");
  while (!existsSync(output) || readFileSync(output, "utf8") === "") await Bun.sleep(5);
  abort.abort();
  expect(await hanging).toMatchObject({ code: null, out: Buffer.from("begun\n") });
  await expect(waiting).rejects.toThrow("took too long");
  expect((await shell.run(command("echo again"))).out.toString()).toBe("again\n");
});

test("a shell that can't be started rejects with its last line", async () => {
  const broken = new CommandShell({ command: ["/bin/sh", "-c", "echo no sandbox >&2; exit 1"], directory });
  await expect(broken.run(command("echo"))).rejects.toThrow("no sandbox");
});

test("a process waits for a running command, and ends in spite of an idle shell", async () => {
  const script = `const { CommandShell } = await import(${JSON.stringify(join(import.meta.dir, "command-shell.ts"))});
    const shell = new CommandShell({ command: ["/bin/sh"], directory: ${JSON.stringify(directory)} });
    const { code } = await shell.run({ argv: ["/bin/sh", "-c", "sleep 0.2; exit 5"], cwd: "/", env: { A: "b" } });
    console.log(code);`;
  const child = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe", stderr: "inherit", timeout: 20_000 });
  expect(await new Response(child.stdout).text()).toBe("5\n");
  expect(await child.exited).toBe(0);
});
