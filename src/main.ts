// argv → door. The only file that ends the process; a door is loaded only when it is asked for.
// Re-executed with a marker it is the executor, what puts up walls around it, or what counts tokens, and then nothing
// else is loaded.
import { writeSync } from "node:fs";
import type { AppOverrides } from "./cli/parse/command.ts";
import type { ProcessContext } from "./app/create-app.ts";
import type { Api } from "./protocol/api/api.ts";
import type { EnclosingSession } from "./protocol/api/policy.ts";
import { createProcessSocket } from "./process-socket.ts";

if (process.argv[2] === "__executor") {
  const bounds = process.argv[3] === undefined ? null : JSON.parse(process.argv[3]);
  void import("./executor/server.ts")
    .then(({ serveExecutor }) => serveExecutor({ env: process.env, sandbox: bounds }))
    .then(() => process.exit(0));
} else if (process.argv[2] === "__count") {
  void import("./files/project/count-process.ts").then(({ countFromStdin }) => countFromStdin()).then(() => process.exit(0));
} else if (process.argv[2] === "__launch") {
  void import("./sandbox/launcher.ts").then(({ launch }) => {
    writeSync(2, `${launch(JSON.parse(process.argv[3]!), process.env)}\n`);
    process.exit(125);
  });
} else {
  void main(process.argv.slice(2))
    .catch(tell)
    .then((code) => process.exit(code));
}

async function main(argv: string[]): Promise<number> {
  const [
    { currentDirectory, createCommandContext: realDoor },
    { runCli },
    { warningText },
    { version },
    { findEnclosingSession: sessionAround },
  ] = await Promise.all([
    import("./cli/terminal/command-context.ts"),
    import("./cli/cli.ts"),
    import("./cli/print/print-fault.ts"),
    import("./version.ts"),
    import("./sandbox/enclosing-session.ts"),
  ]);
  const { findPaths, findProject } = await import("./config/paths.ts");
  const cwd = currentDirectory();
  const { home, state } = findPaths(process.env, cwd);
  const houses = new Set<Api>();
  const startedAt = Date.now();
  const warn = (message: string): void => door.err.write(warningText(message));
  const reach = createProcessSocket({ stateDir: state, version, startedAt, createApi: () => build({ lenient: true }), warn });
  let estate: ProcessContext | null = null;
  let inside: EnclosingSession | null | undefined;
  const around = () => (inside === undefined ? (inside = sessionAround(process.env)) : inside);

  const build = async (wish: AppOverrides): Promise<Api> => {
    const { createApp: buildHouse, createProcessContext: newEstate } = await import("./app/create-app.ts");
    estate ??= newEstate({ ...reach, startedAt, enclosingSession: around });
    // Inside a session our own configuration is hidden; that no turn is started there is to be said first.
    const isInside = around()?.nesting === false;
    const api = buildHouse({
      env: wish.env ?? process.env,
      cwd: wish.cwd ?? cwd,
      startedIn: cwd,
      lenient: wish.lenient ?? isInside,
      ephemeral: wish.ephemeral ?? false,
      trust: wish.trust ?? null,
      selfCommand: selfCommand(),
      version,
      processContext: estate,
      warn,
    });
    const kept: Api = { ...api, close: (how) => api.close(how).finally(() => houses.delete(kept)) };
    houses.add(kept);
    return kept;
  };
  const door = realDoor({
    version,
    cwd,
    home,
    project: findProject(cwd, home),
    projectOf: (directory) => findProject(directory, home),
    state,
    selfCommand: selfCommand(),
    enclosingSession: around,
    exit: (code) => process.exit(code),
    externalAgentNames: async () => (await import("./app/agents/external-agents.ts")).externalAgentNames,
    api: build,
  });
  const code = await runCli(argv, door);
  // Whoever watches from elsewhere is let go while the store can still be read; it knows the rest.
  await reach.close();
  await Promise.all([...houses].map((house) => house.close()));
  return code;
}

/** What went wrong outside of any command. */
async function tell(error: unknown): Promise<number> {
  const { printFault: tellFault } = await import("./cli/print/print-fault.ts");
  return tellFault(error, { env: process.env, write: (text) => writeSync(2, text) });
}

/** How this program starts itself again. An untrusted directory's bunfig.toml, .env and tsconfig.json must not be loaded. */
function selfCommand(): string[] {
  if (Bun.isStandaloneExecutable) return [process.execPath];
  return [process.execPath, "--config=/dev/null", "--no-env-file", "--tsconfig-override=/dev/null", Bun.main];
}
