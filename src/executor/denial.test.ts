import { describe, expect, test } from "bun:test";
import type { SandboxInfo } from "../protocol/api/policy.ts";
import { type FinishedCommand, findDenials, isHidden, writeDenial } from "./denial.ts";

const sandbox: SandboxInfo = {
  policy: "workspace",
  net: "off",
  unixSockets: false,
  writable: ["/home/u/project", "/home/u/project/.git", "/tmp/private"],
  hidden: ["/home/u/.ssh", "/home/u/.netrc", "/etc/shadow"],
  temp: "/tmp/private",
  maxProcesses: 100,
  maxMemoryBytes: null,
  isEnforced: true,
};
const finished = (output: string, options: Partial<FinishedCommand> = {}): FinishedCommand => ({
  command: "make",
  output,
  exitCode: 1,
  cwd: "/home/u/project",
  home: "/home/u",
  ...options,
});
const kinds = (output: string, options: Partial<FinishedCommand> = {}, change: Partial<SandboxInfo> = {}) =>
  findDenials(finished(output, options), { ...sandbox, ...change }).map(({ what }) => what);

const network = [
  "curl: (6) Could not resolve host: example.com",
  "curl: (7) Failed to connect to 10.0.0.1 port 80 after 0 ms: Couldn't connect to server",
  "wget: unable to resolve host address 'example.com'",
  "fatal: unable to access 'https://github.com/a/b/': Could not resolve host: github.com",
  "ssh: Could not resolve hostname github.com: Temporary failure in name resolution",
  "ping: connect: Network is unreachable",
  "npm error code EAI_AGAIN",
  "Error: getaddrinfo ENOTFOUND registry.example.com",
  "Error: connect ENETUNREACH 1.1.1.1:443 - Local (0.0.0.0:0)",
  "TypeError: fetch failed",
  "socket.gaierror: [Errno -3] Temporary failure in name resolution",
  "socket.gaierror: [Errno -2] Name or service not known",
  "OSError: [Errno 101] Network is unreachable",
  "dial tcp: lookup proxy.example.com on [::1]:53: no such host",
  "E: Temporary failure resolving 'deb.example.org'",
  "error: failed to lookup address information: Temporary failure in name resolution",
  "java.net.UnknownHostException: repo.example.com",
  "error: Unable to connect. Is the computer able to access the url?",
  "nc: connect to 1.1.1.1 port 80 (tcp) failed: Permission denied",
  "Error: connect ECONNREFUSED 10.1.2.3:443",
];

describe("network off", () => {
  test.each(network)("%j is reported as denied network", (line) => {
    const [denial, ...more] = findDenials(finished(`before\n${line}\nafter`), sandbox);
    expect(more).toEqual([]);
    expect(denial?.what).toBe("net");
    expect(denial?.text).toMatch(/network is off.*--net on/);
    expect(kinds(line, {}, { net: "on" })).not.toContain("net");
    expect(kinds(line, {}, { isEnforced: false })).toEqual([]);
  });

  test("a refused connection to 127.0.0.1 explains which servers can be reached there", () => {
    const [denial] = findDenials(finished("Error: connect ECONNREFUSED 127.0.0.1:5432"), sandbox);
    expect(denial!.text).toContain("network is off");
    expect(denial!.text).toContain("127.0.0.1 reaches only servers that these commands started");
  });

  test("a forbidden socket is recognised by earlier lines of the output", () => {
    const trace = '  File "/usr/lib/python3/socket.py", line 232, in __init__\n    _socket.socket.__init__(self)\n';
    expect(kinds(`${trace}PermissionError: [Errno 13] Permission denied`)).toEqual(["net"]);
    expect(kinds("PermissionError: [Errno 13] Permission denied")).toEqual([]);
  });

  test("a silent curl or wget is recognised by its exit code", () => {
    expect(kinds("", { command: "curl -s https://example.com", exitCode: 6 })).toEqual(["net"]);
    expect(kinds("", { command: "wget -q https://example.com", exitCode: 4 })).toEqual(["net"]);
    expect(kinds("", { command: "curl -s https://example.com", exitCode: 22 })).toEqual([]);
    expect(kinds("", { command: "make", exitCode: 6 })).toEqual([]);
  });
});

describe("writing", () => {
  test.each<[string, string]>([
    ["touch: cannot touch '/etc/x': Read-only file system", "/etc/x"],
    ["touch: cannot touch '/etc/x': Permission denied", "/etc/x"],
    ["bash: line 1: /etc/x: Read-only file system", "/etc/x"],
    ["bash: line 1: /etc/x: Permission denied", "/etc/x"],
    ["mkdir: cannot create directory ‘/opt/y’: Read-only file system", "/opt/y"],
    ["rm: cannot remove '../other/z': Permission denied", "~/other/z"],
    ["OSError: [Errno 30] Read-only file system: '/usr/lib/q'", "/usr/lib/q"],
    ["Error: EROFS: read-only file system, open '/etc/x'", "/etc/x"],
    ["Error: EACCES: permission denied, mkdir '/usr/lib/node_modules'", "/usr/lib/node_modules"],
    ["open /etc/hosts: read-only file system", "/etc/hosts"],
    ["chown: changing ownership of '/etc/x': Operation not permitted", "/etc/x"],
  ])("%j names the writable paths", (line, path) => {
    expect(findDenials(finished(line), sandbox)).toEqual([
      { what: "write", text: `can't write ${path}: policy workspace allows writing only /home/u/project and /tmp/private ($TMPDIR)` },
    ]);
  });

  test("a temporary file of sed -i is reported as the file that it edits, else as its directory", () => {
    const pathOf = (command: string, temporary: string) => {
      const line = `sed: couldn't open temporary file ${temporary}: Read-only file system`;
      const denials = findDenials(finished(line, { command, exitCode: 4 }), { ...sandbox, writable: ["/tmp/private"] });
      return /^can't write (\S+): /.exec(denials[0]?.text ?? "")?.[1];
    };
    expect(pathOf("sed -i s/a/b/ /etc/hosts; cp /etc/hosts /etc/x", "/etc/sedS8TPWx")).toBe("/etc/hosts");
    expect(pathOf("cd . && sed -i -e 's/a/b/' README.md", "./sedEUFbKZ")).toBe("~/project/README.md");
    expect(pathOf("find src -name '*.ts' | xargs sed -i s/a/b/", "src/sedEUFbKZ")).toBe("~/project/src");
  });

  test("a write to a protected path of the project is reported as protected", () => {
    for (const line of [
      "bash: line 1: .git/hooks/pre-commit: Read-only file system",
      "error: could not lock config file .git/config: Read-only file system",
      "error: could not write config file .git/config: Device or resource busy",
      "touch: cannot touch '.skein/config.jsonc': Read-only file system",
    ]) {
      expect(findDenials(finished(line), sandbox)[0]?.text).toContain("it is protected (git's hooks and config, skein's files)");
    }
  });

  test("the message names the policy and the paths it allows", () => {
    const denialText = (change: Partial<SandboxInfo>) => writeDenial("/etc/x", { ...sandbox, ...change }, "/home/u");
    expect(denialText({ policy: "readonly", writable: ["/tmp/private"] })).toBe(
      "can't write /etc/x: policy readonly allows writing nothing but /tmp/private ($TMPDIR)",
    );
    expect(denialText({ policy: "plan", writable: ["/home/u/project/.skein/plan.md", "/tmp/private"] })).toBe(
      "can't write /etc/x: policy plan allows writing only /home/u/project/.skein/plan.md and /tmp/private ($TMPDIR)",
    );
    expect(denialText({ writable: ["/a", "/b", "/c", "/d", "/e", "/f"] })).toContain("/a, /b, /c, /d and 2 more paths and /tmp/private");
  });
});

describe("secrets", () => {
  test.each<[string, string]>([
    ["cat: /home/u/.ssh/id_ed25519: No such file or directory", "cat ~/.ssh/id_ed25519"],
    ["cat: /home/u/.ssh/id_ed25519: Permission denied", "cat ~/.ssh/id_ed25519"],
    ["", "cat ~/.ssh/id_ed25519"],
    ["", 'cat "$HOME/.ssh/id_ed25519" > x'],
    ["FileNotFoundError: [Errno 2] No such file or directory: '/home/u/.ssh/id_ed25519'", "python3 x.py"],
  ])("%j is reported as a secret", (output, command) => {
    expect(findDenials(finished(output, { command, exitCode: output === "" ? 0 : 1 }), sandbox)).toEqual([
      { what: "secret", text: "can't read ~/.ssh/id_ed25519: it is a secret, hidden by the policy" },
    ]);
  });

  test("of a hidden and a writable path the longer one decides", () => {
    expect(isHidden("/home/u/.ssh", sandbox)).toBe(true);
    expect(isHidden("/home/u/.sshx", sandbox)).toBe(false);
    expect(isHidden("/home/u/.ssh/work/a", { ...sandbox, writable: ["/home/u/.ssh/work"] })).toBe(false);
  });
});

describe("sockets and processes", () => {
  test.each<[string, string]>([
    ["Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?", "socket"],
    ["Could not open a connection to your authentication agent.", "socket"],
    ["Failed to connect to bus: Operation not permitted", "socket"],
    ["error connecting to /tmp/tmux-0/default (Operation not permitted)", "socket"],
    ['psql: error: connection to server on socket "/var/run/postgresql/.s.PGSQL.5432" failed: Permission denied', "socket"],
    ["unshare: unshare failed: Operation not permitted", "process"],
    ["mount: /mnt: permission denied.", "process"],
    ["bash: line 1: kill: (1) - Operation not permitted", "process"],
    ["strace: attach: ptrace(PTRACE_SEIZE, 1): Operation not permitted", "process"],
    ["bash: fork: retry: Resource temporarily unavailable", "process"],
    ["Bad system call (core dumped)", "process"],
  ])("%j is a denial of kind %s", (line, what) => {
    expect(kinds(line)).toEqual([what] as never);
  });

  test("an allowed socket is not reported as denied", () => {
    expect(kinds("error connecting to /tmp/tmux-0/default (No such file or directory)", {}, { unixSockets: true })).toEqual([]);
  });
});

describe("after a success", () => {
  test.each<[string, string, string[]]>([
    ["curl -sS https://example.com | head", "curl: (6) Could not resolve host: example.com", ["net"]],
    ["git fetch || true", "fatal: unable to access 'https://x.org/': Could not resolve host: x.org", ["net"]],
    ["echo x > /etc/x; true", "bash: line 1: /etc/x: Read-only file system", ["write"]],
    ["touch /etc/x || echo failed", "touch: cannot touch '/etc/x': Permission denied\nfailed", ["write"]],
    ["python3 x.py 2>&1 | tail -1", "urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name resolution>", ["net"]],
    ["npm install 2>&1 | tail -20", "npm error code EAI_AGAIN", ["net"]],
    ["npm test 2>&1 | tail -20", "  ✓ says ECONNREFUSED when nobody listens", []],
    ["cat old.log", "urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name resolution>", []],
    ["grep -rn 'Permission denied' src", 'src/a.c:12: die("Permission denied");', []],
    ["grep -rh 'Permission denied' src", "touch: cannot touch '/etc/x': Permission denied", []],
    ["cat build.log", "touch: cannot touch '/etc/x': Permission denied", []],
    ["tail -5 build.log | sort", "curl: (6) Could not resolve host: example.com", []],
    ["npm test", "  ✓ says ECONNREFUSED when nobody listens", []],
    ["echo done", "done", []],
  ])("the output of %j after exit code 0 is searched only for its own errors", (command, output, what) => {
    expect(kinds(output, { command, exitCode: 0 })).toEqual(what as never);
  });
});

describe("a failure for another reason gets nothing", () => {
  test.each([
    "src/a.ts:12:  if (code === 'ECONNREFUSED') retry();",
    "12: Permission denied",
    "cat: /root/x: Permission denied",
    "ls: cannot open directory '/root': Permission denied",
    "cat: missing.txt: No such file or directory",
    "touch: cannot touch '/home/u/project/locked/x': Permission denied",
    "error TS2304: Cannot find name 'x'.",
    "make: *** [Makefile:2: all] Error 1",
    "",
  ])("%j is not reported as denied", (line) => expect(kinds(line)).toEqual([]));

  test("a script without execute permission is not reported as denied", () => {
    expect(kinds("bash: line 1: /opt/run.sh: Permission denied", { exitCode: 126 })).toEqual([]);
  });
});

test("each kind of denial is reported once, in one bounded line", () => {
  const long = `/etc/${"x".repeat(5000)}`;
  const denials = findDenials(finished(`touch: cannot touch '${long}': Read-only file system\n`.repeat(50)), sandbox);
  expect(denials.length).toBe(1);
  expect(denials[0]!.text.length).toBeLessThanOrEqual(300);
});
