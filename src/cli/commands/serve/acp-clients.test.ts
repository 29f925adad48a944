// Real settings files of the clients of `skein acp install`, changed and changed back.
import { expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { applyInstall, planInstall, planRemoval } from "../../../mcp/install/install.ts";
import { acpClients } from "./acp-clients.ts";

const server = { command: "/opt/my skein/bin/skein", args: ["acp"], variables: [], path: "" };

for (const client of acpClients) {
  test(`install adds skein to the settings of ${client.name}, keeps the rest, and can be undone`, async () => {
    const home = mkdtempSync(join(tmpdir(), "skein-acp-"));
    try {
      const file = client.file({ home, env: {}, platform: "linux" });
      mkdirSync(dirname(file), { recursive: true });
      const before = `{\n  // mine\n  "theme": "dark",\n  "${client.servers}": {\n    "other": { "command": "other" }\n  }\n}\n`;
      writeFileSync(file, before);
      applyInstall(await planInstall(client, file, server));
      const after = readFileSync(file, "utf8");
      for (const words of ["// mine", '"other"', "my skein", "acp"]) expect(after).toContain(words);
      expect(await planInstall(client, file, server)).toMatchObject({ outcome: "unchanged" });
      applyInstall(await planRemoval(client, file));
      expect(readFileSync(file, "utf8")).toBe(before);
      writeFileSync(file, `{ "${client.servers}": { "skein": { "command": "something else" } } }`);
      expect(planInstall(client, file, server)).rejects.toThrow("another server called skein");
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  });
}
