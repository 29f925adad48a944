// The scripted model server as a process: prints its address as the first line, ends when its stdin ends.
// Arguments: a file with {"script": ..., "options": ...}; without one it answers "done" until /_control sets a script.
import { startModelServer, type ModelServer, type ModelServerOptions } from "../../src/scripted-model/model-server.ts";
import { controlRoute } from "./model-server-control.ts";
import { shellScript, type Script } from "../../src/scripted-model/script.ts";

type Setup = { script?: Script; options?: ModelServerOptions };

async function main(file: string | undefined): Promise<void> {
  const setup: Setup = file === undefined ? {} : ((await Bun.file(file).json()) as Setup);
  const server: ModelServer = startModelServer(setup.script ?? shellScript([]), { ...setup.options, route: controlRoute(() => server) });
  process.stdout.write(`${server.url}\n`);
  for await (const _ of Bun.stdin.stream()) continue;
  await server.stop();
}

void main(process.argv[2]);
