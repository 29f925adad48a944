// Runs the sample conversation of `chat` with a scripted model, in a small project.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startModelServer, type ModelServer } from "../../src/scripted-model/model-server.ts";
import { shellScript, type Script } from "../../src/scripted-model/script.ts";
import { temporaryHome, vendorEnv, type TemporaryHome } from "./temporary-home.ts";

export const model = ["-m", "anthropic/claude-sonnet-4-5"];
export const list = "list the python files in src/";
export const main = "show me the contents of main.py";
export const utils = "actually, show me utils.py instead";

const answers: [string, Script][] = [
  [list, shellScript(["ls src/*.py"], "I found 3 Python files in the src directory:\n- main.py\n- utils.py\n- config.py")],
  [main, shellScript(["cat src/main.py"], "Here's the contents of main.py.")],
  [utils, shellScript(["cat src/utils.py"], "Here's utils.py.")],
  ["take your time", shellScript(["sleep 300"], "slept")],
];

export type ChatJourney = {
  skein: TemporaryHome;
  server: ModelServer;
  chat: (lines: string[], session?: string) => ReturnType<TemporaryHome["run"]>;
};

export async function runChatJourney(check: (journey: ChatJourney) => Promise<void>): Promise<void> {
  const server = startModelServer(({ position: { prompt } }) => {
    const answer = answers.find(([question]) => question === prompt);
    return answer?.[1] ?? { steps: [], final: `You said: ${prompt}` };
  });
  using skein = temporaryHome(vendorEnv(server.url));
  mkdirSync(join(skein.project, "src"));
  for (const name of ["main", "utils", "config"])
    writeFileSync(join(skein.project, "src", `${name}.py`), `import utils # ${name}\nprint()\n`);
  try {
    const chat: ChatJourney["chat"] = (lines, session) =>
      skein.run(["chat", ...(session === undefined ? [] : [session]), ...model], { stdin: lines.map((line) => `${line}\n`).join("") });
    await check({ skein, server, chat });
  } finally {
    await server.stop();
  }
}
