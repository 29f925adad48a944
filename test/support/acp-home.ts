// A home with a scripted model, for tests of `skein acp`. Its hub ends with it.
import { serverWith, stoppingHub } from "./mcp-clients.ts";
import { temporaryHome, vendorEnv } from "./temporary-home.ts";

export async function acpHome(script: Parameters<typeof serverWith>[0]) {
  const server = serverWith(script);
  const skein = stoppingHub(temporaryHome(vendorEnv(server.url)));
  return Object.assign(skein, {
    server,
    async [Symbol.asyncDispose]() {
      await skein.run(["hub", "stop", "--wait", "0"]);
      skein[Symbol.dispose]();
      await server.stop();
    },
  });
}
