// Starts the page: logs in by the link, opens the line to the hub, and shows the view of the address.
import { render } from "preact";
import { App } from "./app.tsx";
import { createLine } from "./connection/line.ts";
import { callerDirectory, logInByLink } from "./connection/login.ts";
import { listenToKeys } from "./keys.ts";
import { followAddress } from "./route.ts";

const build = document.documentElement.dataset["build"] ?? "";

async function start(): Promise<void> {
  const problem = await logInByLink();
  followAddress();
  const line = createLine(build);
  listenToKeys();
  const root = document.getElementById("page")!;
  root.replaceChildren();
  render(<App page={{ line, directory: callerDirectory() }} build={build} problem={problem} />, root);
}

void start();
