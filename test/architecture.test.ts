// Enforces the rules of ARCHITECTURE.md and CONTRIBUTING.md: who may import whom, cycles, sizes of files, functions,
// folders and parameter lists, words that may not come back, call chains, and paths in documents.
import { Glob } from "bun";
import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { brokenCalls, callChains } from "./support/call-chain.ts";
import {
  clauseComments,
  hiddenImports,
  longParameterLists,
  misformedFaultTexts,
  plainOpens,
  privateWordsIn,
  programStarts,
} from "./support/scan-source.ts";

const root = join(import.meta.dir, "..");
const sources = [...new Glob("src/**/*.{ts,tsx}").scanSync({ cwd: root })].sort();
const production = sources.filter((file) => !/\.test\.ts$|\/(conformance|fixtures)\//.test(file));
const testFiles = [...new Glob("{test,tools}/**/*.ts").scanSync({ cwd: root })].filter((file) => !file.includes("node_modules")).sort();
const documents = [...new Glob("{*.md,docs/*.md,src/**/*.md}").scanSync({ cwd: root })].sort();
/** The list of these words, and the names of a stored table that can't be changed. */
const mayNamePrivateWords = new Set([
  "test/support/scan-source.ts",
  "src/store/sqlite/migrations.ts",
  "src/store/sqlite/search/shown-hits.ts",
  "src/store/sqlite/sqlite-store.test.ts",
]);
const textOf = (file: string) => readFileSync(join(root, file), "utf8");

const layer0 = ["protocol", "kit"];
const mayImport: Record<string, string[]> = {
  protocol: ["kit"],
  kit: [],
  // the names of the vendors' environment variables come from the table of vendors
  config: [...layer0, "models"],
  store: layer0,
  models: layer0,
  executor: [...layer0, "sandbox"],
  sandbox: layer0,
  skills: layer0,
  roles: layer0,
  files: layer0,
  "mcp-client": layer0,
  "scripted-model": [],
  agents: [...layer0, "models", "executor", "sandbox", "skills", "roles", "scripted-model"],
  engine: [...layer0, "store", "roles"],
  fleet: [...layer0, "store", "files"],
  hub: layer0,
  mcp: layer0,
  acp: layer0,
  tui: layer0,
  web: layer0,
  cli: [...layer0, "hub", "mcp", "acp", "tui", "web"],
  app: [
    ...layer0,
    "config",
    "store",
    "models",
    "executor",
    "sandbox",
    "skills",
    "roles",
    "files",
    "mcp-client",
    "agents",
    "engine",
    "fleet",
    "scripted-model",
    "version",
  ],
  version: [],
  // re-executed, main is the executor, the launcher, the packer or the token counter
  main: ["protocol", "cli", "app", "run-path", "executor", "sandbox", "files", "version"],
  "run-path": ["cli", "process-socket", "process-fleet", "app", "config", "models", "sandbox"],
  "process-socket": ["protocol", "hub", "app"],
  "process-fleet": ["protocol", "cli", "hub", "app", "engine", "fleet"],
};

describe("layers", () => {
  test("every file imports only from modules below its own", () => {
    const forbidden = sources.flatMap((file) => {
      const allowed = [moduleOf(file), ...(mayImport[moduleOf(file)] ?? [])];
      return importsOf(file)
        .filter((target) => target.startsWith("src/") && !allowed.includes(moduleOf(target)))
        .map((target) => `${file} → ${target}`);
    });
    expect(forbidden).toEqual([]);
  });

  test("every module is in the table", () => {
    expect([...new Set(production.map(moduleOf))].filter((name) => mayImport[name] === undefined)).toEqual([]);
  });

  test("no value-import cycle exists", () => {
    expect(findCycles(new Map(production.map((file) => [file, valueImports(file)])))).toEqual([]);
  });

  test("only main ends the process, and only main and the command context read the environment", () => {
    const exits = production.filter((file) => /\bprocess\.exit\b/.test(textOf(file)));
    const readers = production.filter((file) => /\bprocess\.env\b|\bBun\.env\b/.test(textOf(file)));
    expect({ exits, readers: readers.filter((file) => !["src/main.ts", "src/cli/terminal/command-context.ts"].includes(file)) }).toEqual({
      exits: ["src/main.ts"],
      readers: [],
    });
  });

  test("zod stays out of everything but the schemas", () => {
    const users = production.filter((file) => /from "zod"/.test(textOf(file)));
    expect(users.filter((file) => !file.startsWith("src/protocol/schema/"))).toEqual([]);
  });
});

describe("programs", () => {
  /** Their commands begin with skein itself, a program of `findProgram`, or run inside of the sandbox. */
  const mayCompute = new Set([
    "src/agents/external/process/run-cli.ts",
    "src/executor/client.ts",
    "src/files/project/count-files.ts",
    "src/kit/process/command-shell.ts",
    "src/kit/process/run-process.ts",
    "src/sandbox/probe.ts",
  ]);
  const refusedStarts = (file: string, code: string) =>
    programStarts(code).flatMap(({ line, how }) =>
      how === "absolute" || (how === "computed" && mayCompute.has(file)) ? [] : [`${file}:${line} starts a program ${how}`],
    );

  test("production code looks up no program in PATH and starts none by its name, outside of trusted-programs.ts", () => {
    expect(production.flatMap((file) => refusedStarts(file, textOf(file)))).toEqual([]);
    expect([...mayCompute].filter((file) => !programStarts(textOf(file)).some(({ how }) => how === "computed"))).toEqual([]);
  });

  const planted: Record<string, string> = {
    "a bare name": 'const { stdout } = Bun.spawnSync(["git", "status"]);',
    "a bare name in a file that may compute commands": 'Bun.spawn(\n  ["git", ...args],\n  { cwd },\n);',
    "a relative path": 'Bun.spawn(["./node_modules/.bin/tool"]);',
    "a command from a variable": "Bun.spawn(command, { env });",
    "a lookup in PATH": 'const git = Bun.which("git", { PATH: env["PATH"] });',
    "the shell of Bun": "await Bun.$`git status`;",
    "an import of the process module": 'import { execFile } from "node:child_process";',
    "an import of Bun's own functions": 'import { spawn, which } from "bun";',
    "a dynamic import": 'const { spawn } = await import("child_process");',
    "Bun in a variable": "const { spawn } = Bun;",
    "Bun by its name": 'globalThis["Bun"].spawn(["git"]);',
    "a member of Bun by its name": 'Bun["spawn"](["git"]);',
    "a function of Bun in a variable": "const start = Bun.spawn;",
    "an object with the command": 'Bun.spawn({ cmd: ["git"] });',
    "a built-in module": 'process.getBuiltinModule("child_process").spawn("git");',
    "an internal binding": 'process.binding("spawn_sync");',
    "a fork of the runtime": 'import { fork } from "node:cluster";',
  };
  for (const [name, code] of Object.entries(planted)) {
    test(`a new file with ${name} is refused`, () => {
      const file = name.includes("may compute") ? "src/kit/process/run-process.ts" : "src/app/planted.ts";
      expect(refusedStarts(file, `// Planted.\n${code}\n`)).toHaveLength(1);
    });
  }

  test("an absolute path, a comment and a string are not refused", () => {
    const code = '// Bun.which is slow.\nBun.spawnSync(["/bin/ps", "-ax"]);\nconst text = "Bun.spawn(command)";\n';
    expect(refusedStarts("src/app/planted.ts", code)).toEqual([]);
  });
});

/**
 * Files and folders that may open files by a path. Everything else uses `src/kit/files/safe-file.ts`, because a tool could
 * put a link or a pipe in the place of a project's file.
 */
const mayOpenByPath: Record<string, string> = {
  "src/kit/files/": "the safe functions themselves, and writers for skein's own directories",
  "src/kit/process/": "/proc, and files of a private directory",
  "src/sandbox/": "/proc, and mounts of the launcher",
  "src/executor/": "runs inside the sandbox",
  "src/files/project/count-process.ts": "runs inside the sandbox",
  "src/files/snapshots/": "skein's own repositories; pack.ts runs inside the sandbox",
  "src/store/sqlite/": "the data directory",
  "src/store/postgres/": "/proc, unlinked temporary files, and the certificate that the user names",
  "src/app/executors/": "the state directory, and placeholders in git directories",
  "src/app/agents/": "the state directory",
  "src/agents/external/process/config-files.ts": "an agent's data directory, opened without links",
  "src/agents/external/transcripts/": "an index in the data directory, and a private copy of opencode's database",
  "src/agents/trial/": "temporary directories of doctor",
  "src/config/project-state.ts": "the state directory",
  "src/hub/": "the state directory",
  "src/mcp/server/http.ts": "the state directory",
  "src/web/server/": "the state directory, the password file that the user names, and files of this program",
  "src/web/build/": "sources of the page, at build time",
  "src/mcp/install/": "configuration files of the user's other programs",
  "src/cli/line-editor/history.ts": "the state directory",
  "src/cli/print/crash-report.ts": "the state directory",
  "src/cli/commands/tui/": "the state directory",
  "src/cli/commands/run/demo.ts": "a temporary directory",
  "src/cli/commands/team/": "a member's own mail, read inside the sandbox",
};

describe("files of a project", () => {
  test("only listed files open a path themselves", () => {
    const unlisted = production.filter((file) => !Object.keys(mayOpenByPath).some((path) => file.startsWith(path)));
    expect(unlisted.flatMap((file) => plainOpens(textOf(file)).map((call) => `${file}: ${call}`))).toEqual([]);
  });

  test("every entry of the list is needed", () => {
    const opening = production.filter((file) => plainOpens(textOf(file)).length > 0);
    expect(Object.keys(mayOpenByPath).filter((path) => !opening.some((file) => file.startsWith(path)))).toEqual([]);
  });

  test("a new file that opens a path is refused, whichever function it uses", () => {
    const planted = [
      'const text = readFileSync(join(project, "AGENTS.md"), "utf8");',
      'await Bun.write(join(project, "x"), text);',
      "for await (const chunk of Bun.file(path).stream()) use(chunk);",
      'import { readFile } from "node:fs/promises";',
      "fs.appendFileSync(path, line);",
      "createReadStream(path)",
      'import { readFileSync as read } from "node:fs";',
      'import * as fs from "fs";',
      'import fs from "node:fs";',
      'const { open } = await import("fs/promises");',
      'const fs = require("fs");',
      "const open = Bun.file;",
      "const bytes = Bun.mmap(path);",
      'import { Database } from "bun:sqlite";',
    ];
    expect(planted.filter((text) => plainOpens(text).length === 0)).toEqual([]);
    expect(plainOpens("const bytes = readBelow(project, path, limits); writeSync(fd, bytes);")).toEqual([]);
  });
});

/** Calls of C for locks and for the launcher, and the page that a checkout builds. */
const mayHideImports = new Set([
  "src/kit/process/libc.ts",
  "src/sandbox/namespace-port.ts",
  "src/sandbox/launch/launcher.ts",
  "src/sandbox/launch/raw-call.ts",
  "src/web/server/page-files.ts",
]);

describe("imports", () => {
  test("only listed files import functions of C or a module with a computed name", () => {
    const hiding = production.filter((file) => hiddenImports(textOf(file)).length > 0);
    expect(hiding.toSorted()).toEqual([...mayHideImports].toSorted());
  });

  test("a new file that hides an import is refused", () => {
    const planted = [
      'import { dlopen } from "bun:ffi";',
      'await import("node:child_" + "process");',
      "await import(path);",
      "require(`${name}`);",
    ];
    expect(planted.filter((code) => hiddenImports(code).length === 0)).toEqual([]);
    expect(hiddenImports('const { a } = await import("./a.ts");\n// import(path)\nconst text = "import(path)";')).toEqual([]);
  });
});

describe("sizes and names", () => {
  test("no file is longer than 400 lines", () => {
    expect(sources.filter((file) => textOf(file).split("\n").length > 401)).toEqual([]);
  });

  test("no function is longer than 80 lines", () => {
    expect(production.flatMap(longFunctions)).toEqual([]);
  });

  test("no name says what a thing is not", () => {
    const banned =
      /(^|[-/])(core|utils?|helpers?|common|shared|base|managers?|services?|handlers?|impl|legacy|new|v2|bridge|misc)([-./]|$)/;
    expect(sources.filter((file) => banned.test(file.slice(4)) || /[A-Z_]/.test(file))).toEqual([]);
  });

  test("no file was left in the middle of a merge", () => {
    const written = [...sources, ...new Glob("{*.md,docs/**/*.md,test/**/*.ts,tools/**/*.ts}").scanSync({ cwd: root })];
    expect(written.filter((file) => !file.includes("/node_modules/") && /^(<{7}|>{7}) /m.test(textOf(file)))).toEqual([]);
  });
  test("every file says at its head what it is for, and exports nothing by default", () => {
    expect(production.filter((file) => !textOf(file).startsWith("// "))).toEqual([]);
    expect(production.filter((file) => /^export default/m.test(textOf(file)))).toEqual([]);
  });
});

describe("folders", () => {
  const filesOf = Map.groupBy(production, dirname);

  test("no folder has more than 15 production files", () => {
    expect([...filesOf].filter(([, files]) => files.length > 15).map(([folder]) => folder)).toEqual([]);
  });

  test("every folder with more than five production files has a README.md of at most 40 lines", () => {
    const needed = [...filesOf].filter(([, files]) => files.length > 5).map(([folder]) => `${folder}/README.md`);
    const readmes = [...new Glob("src/**/README.md").scanSync({ cwd: root })];
    expect(needed.filter((file) => !readmes.includes(file))).toEqual([]);
    expect(readmes.filter((file) => textOf(file).trimEnd().split("\n").length > 40)).toEqual([]);
  });
});

describe("parameters and words", () => {
  test("no function takes more than four positional parameters", () => {
    expect(production.flatMap((file) => longParameterLists(textOf(file), 4).map((list) => `${file}:${list}`))).toEqual([]);
  });

  test("no private word comes back", () => {
    const written = [...sources, ...testFiles, ...documents].filter((file) => !mayNamePrivateWords.has(file));
    expect(written.flatMap((file) => privateWordsIn(textOf(file)).map((word) => `${file}:${word}`))).toEqual([]);
  });

  test("no comment of production code begins with a clause in place of a subject", () => {
    expect(production.flatMap((file) => clauseComments(textOf(file)).map((comment) => `${file}: ${comment.slice(0, 80)}`))).toEqual([]);
  });

  test("messages and hints of faults start in lower case and end without a full stop", () => {
    expect(production.flatMap((file) => misformedFaultTexts(textOf(file)).map((words) => `${file}: ${words.slice(0, 80)}`))).toEqual([]);
  });
});

describe("call chains", () => {
  const chains = callChains(textOf("ARCHITECTURE.md"));
  const maxFiles: Record<string, number> = { model: 8, disk: 3, shell: 6, work_with: 9 };

  test("ARCHITECTURE.md names a chain to the model, to the disk, to the shell and from work_with", () => {
    expect(Object.keys(maxFiles).filter((word) => !chains.some(({ title }) => title.includes(word)))).toEqual([]);
  });

  test("every function of a chain calls the next one", () => {
    expect(chains.flatMap((chain) => brokenCalls(chain, textOf))).toEqual([]);
  });

  test("no chain passes more files than it may", () => {
    const tooLong = chains.filter(({ title, calls }) => {
      const limit = Object.entries(maxFiles).find(([word]) => title.includes(word))?.[1] ?? 0;
      return new Set(calls.map(({ file }) => file)).size > limit;
    });
    expect(tooLong.map(({ title }) => title)).toEqual([]);
  });
});

describe("documents", () => {
  for (const document of documents) {
    test(`${document} names only paths that exist`, () => {
      const paths = textOf(document).matchAll(/(?<![\w./-])(?:src|test|bench|tools|docs|examples|bin)\/[\w./-]*\w/g);
      const missing = [...paths].map(([path]) => path).filter((path) => !existsSync(join(root, path)) && !built.has(path));
      expect(missing).toEqual([]);
    });
  }
});

/** Calls that open a path, and so follow links and wait for pipes. Calls on a descriptor are allowed. */

/** Named in documents, made by a command. */
const built = new Set(["bench/peers"]);

function moduleOf(file: string): string {
  const [, name = "", ...rest] = file.split("/");
  return rest.length === 0 ? name.replace(/(\.test)?\.ts$/, "") : name;
}

function importsOf(file: string): string[] {
  const found = textOf(file).matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)"/g);
  return [...found].map(([, path]) => normalize(join(dirname(file), path as string)));
}

const transpilers = { ts: new Bun.Transpiler({ loader: "ts" }), tsx: new Bun.Transpiler({ loader: "tsx" }) };

function valueImports(file: string): string[] {
  return transpilers[file.endsWith("x") ? "tsx" : "ts"]
    .scanImports(textOf(file))
    .filter(({ kind, path }) => kind === "import-statement" && path.startsWith("."))
    .map(({ path }) => normalize(join(dirname(file), path)));
}

function findCycles(graph: Map<string, string[]>): string[] {
  const done = new Set<string>();
  const cycles: string[] = [];
  function visit(file: string, trail: string[]): void {
    if (trail.includes(file)) cycles.push([...trail.slice(trail.indexOf(file)), file].join(" → "));
    if (done.has(file) || trail.includes(file)) return;
    for (const next of graph.get(file) ?? []) visit(next, [...trail, file]);
    done.add(file);
  }
  for (const file of graph.keys()) visit(file, []);
  return cycles;
}

function longFunctions(file: string): string[] {
  const lines = textOf(file).split("\n");
  return lines.flatMap((line, start) => {
    const opening = /^( *)(?:export )?(?:async )?function\*? (\w+)/.exec(line);
    if (opening === null) return [];
    const end = lines.findIndex((candidate, at) => at > start && candidate === `${opening[1]}}`);
    return end - start + 1 > 80 ? [`${file} ${opening[2]} ${end - start + 1}`] : [];
  });
}
