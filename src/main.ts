// Parses argv and runs a front end. This is the only file that ends the process.
// skein starts itself again with a marker as executor, launcher, token counter, packer or sender of traces; then nothing else is loaded.
import { writeSync } from "node:fs";
import type { AppOverrides } from "./cli/parse/command.ts";
import type { ProcessContext } from "./app/process-context.ts";
import type { Api } from "./protocol/api/api.ts";
import type { EnclosingSession } from "./protocol/api/policy.ts";
import { version } from "./version.ts";

if (process.argv[2] === "__executor") {
  const sandbox = process.argv[3] === undefined ? null : JSON.parse(process.argv[3]);
  void import("./executor/server.ts").then(({ serveExecutor }) => serveExecutor({ env: process.env, sandbox })).then(() => process.exit(0));
} else if (process.argv[2] === "__count") {
  void import("./files/project/count-process.ts").then(({ countFromStdin }) => countFromStdin()).then(() => process.exit(0));
} else if (process.argv[2] === "__pack") {
  void import("./files/snapshots/pack.ts").then(({ packFromStdin }) => packFromStdin()).then(() => process.exit(0));
} else if (process.argv[2] === "__send-traces") {
  void import("./app/traces/send-traces.ts")
    .then(({ sendTraces }) => sendTraces(process.argv[3] ?? "", process.env))
    .then(() => process.exit(0), reportError);
} else if (process.argv[2] === "__launch") {
  void import("./sandbox/launch/launcher.ts").then(({ launch }) => {
    writeSync(2, `${launch(process.env)}\n`);
    process.exit(125);
  });
} else if (printsVersion(process.argv.slice(2))) {
  process.exit(0);
} else {
  void main(process.argv.slice(2))
    .catch(reportError)
    .then((code) => process.exit(code));
}

async function main(argv: string[]): Promise<number> {
  const path = await import("./run-path.ts");
  const { findPaths, findProject } = path;
  const cwd = path.currentDirectory();
  const { home, state, data } = findPaths(process.env, cwd);
  const openApis = new Set<Api>();
  const startedAt = Date.now();
  const warn = (message: string): void => ctx.err.write(path.warningText(message));
  const socket = path.createProcessSocket({ stateDir: state, version, startedAt, createApi: () => openApi({ lenient: true }), warn });
  const fleet = path.createProcessFleet({
    version,
    startedAt,
    data,
    warn,
    address: socket.address,
    running: () => processContext?.running ?? null,
    openApi: (overrides) => openApi(overrides),
  });
  const connect = (address: string) => (address.startsWith("fleet:") ? fleet.connect(address) : socket.connect(address));
  let processContext: ProcessContext | null = null;
  let enclosing: EnclosingSession | null | undefined;
  const enclosingSession = () => (enclosing === undefined ? (enclosing = path.findEnclosingSession(process.env)) : enclosing);

  const openApi = async (overrides: AppOverrides = {}): Promise<Api> => {
    processContext ??= path.createProcessContext({ address: socket.address, connect, startedAt, enclosingSession });
    // Inside a session our configuration can't be read. That must not hide the error that no turn can start there.
    const isInside = enclosingSession()?.nesting === false;
    const caller = { directory: overrides.cwd ?? cwd, ...(typeof overrides.trust === "boolean" ? { trust: overrides.trust } : {}) };
    const leaveToHub = (session: string) => path.passToHub({ ...ctx, env: overrides.env ?? process.env }, caller, session);
    const api = path.createApp({
      ...(overrides.continuesTurns === true || overrides.store === "fleet" ? {} : { leaveToHub }),
      ...(overrides.store === "fleet"
        ? { openStore: fleet.openStore }
        : overrides.store === "local"
          ? {}
          : { openFleetApi: () => fleet.frontEndApi(overrides) }),
      env: overrides.env ?? process.env,
      cwd: overrides.cwd ?? cwd,
      startedIn: cwd,
      lenient: overrides.lenient ?? isInside,
      ephemeral: overrides.ephemeral ?? false,
      trust: overrides.trust ?? null,
      continuesTurns: overrides.continuesTurns ?? false,
      selfCommand: selfCommand(),
      version,
      processContext,
      warn,
    });
    const openedApi: Api = { ...api, close: (how) => api.close(how).finally(() => openApis.delete(openedApi)) };
    openApis.add(openedApi);
    return openedApi;
  };

  const ctx = path.createCommandContext({
    version,
    cwd,
    home,
    project: findProject(cwd, home),
    projectOf: (directory) => findProject(directory, home),
    state,
    selfCommand: selfCommand(),
    enclosingSession,
    externalAgentNames: async () => path.externalAgentNames,
    exit: (code) => process.exit(code),
    api: openApi,
    fleet: (role) => fleet.commands(role ?? null),
  });
  const code = await path.runCli(argv, ctx);
  // Watchers in other processes are disconnected first: they read the rest from the store.
  await socket.close();
  await Promise.all([...openApis].map((api) => api.close()));
  await fleet.close();
  return code;
}

/** Prints the version, which loads nothing else. False for other arguments, and if the line can't be written: `main` then says why. */
function printsVersion(argv: string[]): boolean {
  if (argv.length !== 1 || !["--version", "-V", "-v"].includes(argv[0]!)) return false;
  try {
    return writeSync(1, `skein ${version}\n`) > 0;
  } catch {
    return false;
  }
}

/** Prints an error that no command has caught. */
async function reportError(error: unknown): Promise<number> {
  const { printFault } = await import("./run-path.ts");
  return printFault(error, { env: process.env, write: (text) => writeSync(2, text) });
}

/** The command that starts this program again. It must not load bunfig.toml, .env or tsconfig.json of an untrusted directory. */
function selfCommand(): string[] {
  if (Bun.isStandaloneExecutable) return [process.execPath];
  return [process.execPath, "--config=/dev/null", "--no-env-file", "--tsconfig-override=/dev/null", Bun.main];
}
