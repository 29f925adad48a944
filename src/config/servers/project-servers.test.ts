import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FileReader } from "../../kit/files/file-reader.ts";
import { readProjectServers } from "./project-servers.ts";

const root = mkdtempSync(join(tmpdir(), "skein-servers-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

function read(content: string | object | null, { isTrusted = true, env = {} }: { isTrusted?: boolean; env?: Record<string, string> } = {}) {
  const project = mkdtempSync(join(root, "project-"));
  if (content !== null) writeFileSync(join(project, ".mcp.json"), typeof content === "string" ? content : JSON.stringify(content));
  const warnings: string[] = [];
  const files = new FileReader(project);
  const found = readProjectServers({
    project,
    files,
    env,
    isTrusted: () => isTrusted,
    warn: (text) => void warnings.push(text.replace(project, "<project>")),
  });
  return { servers: found?.servers ?? null, isTrusted: found?.isTrusted, warnings, hasParsed: files.paths.length > 0 };
}

test("a trusted file gives its servers, with variables filled in", () => {
  const content = {
    mcpServers: { a: { command: "${BIN}/x", args: ["${NO:-none}"], env: { T: "Bearer ${TOKEN}" }, other: 1 }, b: { url: "${URL}/mcp" } },
  };
  const { servers, warnings } = read(content, { env: { BIN: "/b", TOKEN: "t", URL: "https://a" } });
  expect(servers).toEqual({
    a: { command: "/b/x", args: ["none"], env: { T: "Bearer t" }, disabled: false },
    b: { url: "https://a/mcp", disabled: false },
  });
  expect(warnings).toEqual([]);
  expect(read(content).warnings).toContain("<project>/.mcp.json: a names the variable BIN, TOKEN, which is not set");
});

test("an untrusted file is parsed, so that its bytes can be trusted, but no variable is filled in", () => {
  const { servers, isTrusted, warnings, hasParsed } = read(
    { mcpServers: { a: { command: "${HOME}" } } },
    { isTrusted: false, env: { HOME: "/h" } },
  );
  expect({ servers, isTrusted, hasParsed }).toEqual({
    servers: { a: { command: "${HOME}", disabled: false } },
    isTrusted: false,
    hasParsed: true,
  });
  expect(warnings).toEqual(["<project>/.mcp.json is not trusted, so its server can't be used; read it, then run `skein trust`"]);
});

test.each([
  ["{", "<project>/.mcp.json is left out: "],
  ["[]", '<project>/.mcp.json is left out: an object with "mcpServers" is expected'],
  [
    { mcpServers: { "b ad": { command: "x" } } },
    '<project>/.mcp.json: the server "b ad" has a name or a field that is not valid; it is left out',
  ],
  [{ mcpServers: { a: { command: 5 } } }, '<project>/.mcp.json: the server "a" has a name or a field that is not valid; it is left out'],
  [{ mcpServers: { a: { command: "x", args: "y" } } }, '<project>/.mcp.json: the server "a" has a name'],
  [{ mcpServers: { a: {} } }, '<project>/.mcp.json: the server a has neither "command" nor "url"; it is left out'],
] as [string | object, string][])("the file %j is a warning, not an error", (content, warning) => {
  expect(read(content).warnings.join()).toStartWith(warning);
});

test("a missing file costs nothing, and a link out of the project is not followed", () => {
  expect(read(null)).toMatchObject({ servers: null, warnings: [], hasParsed: false });
  const project = mkdtempSync(join(root, "project-"));
  writeFileSync(join(root, "outside.json"), JSON.stringify({ mcpServers: { a: { command: "x" } } }));
  symlinkSync(join(root, "outside.json"), join(project, ".mcp.json"));
  const warnings: string[] = [];
  const options = {
    project,
    files: new FileReader(project),
    env: {},
    isTrusted: () => true,
    warn: (text: string) => void warnings.push(text),
  };
  expect(readProjectServers(options)).toBeNull();
  expect(warnings.join()).toContain(".mcp.json is left out: ");
});
