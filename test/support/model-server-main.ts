// The scripted model server as a process: prints its address as the first line, ends when its stdin ends.
// Argument: {"script": ..., "options": ...}, or a file with it; without one it answers "done" until /_control sets a script.
import { startModelServer, type ModelServer, type ModelServerOptions } from "../../src/scripted-model/model-server.ts";
import { controlRoute } from "./model-server-control.ts";
import { shellScript, type Script } from "../../src/scripted-model/script.ts";

type Setup = { script?: Script; options?: ModelServerOptions };

async function main(argument: string): Promise<void> {
  const setup: Setup =
    argument === "" ? {} : ((argument.startsWith("{") ? JSON.parse(argument) : await Bun.file(argument).json()) as Setup);
  const server: ModelServer = startModelServer(setup.script ?? shellScript([]), { ...setup.options, route: controlRoute(() => server) });
  process.stdout.write(`${server.url}\n`);
  for await (const _ of Bun.stdin.stream()) continue;
  await server.stop();
}

void main(process.argv[2] ?? "");
