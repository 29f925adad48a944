// Everything that `skein run` loads before its first request. main.ts loads this file as a whole, so that the bundler puts
// all of it into one file: 80 small ones took a millisecond longer. The executor and the launcher do not load it.
import "./cli/commands/run/run.ts";
import "./models/wire/anthropic.ts";

export { externalAgentNames } from "./app/agents/external-agents.ts";
export { createApp } from "./app/create-app.ts";
export { createProcessContext } from "./app/process-context.ts";
export { runCli } from "./cli/cli.ts";
export { printFault, warningText } from "./cli/print/print-fault.ts";
export { createCommandContext, currentDirectory } from "./cli/terminal/command-context.ts";
export { findPaths, findProject } from "./config/paths.ts";
export { createProcessFleet } from "./process-fleet.ts";
export { createProcessSocket, passToHub } from "./process-socket.ts";
export { findEnclosingSession } from "./sandbox/enclosing-session.ts";
