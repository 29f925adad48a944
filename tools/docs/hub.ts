// Prints docs/HUB.md: what is written here about the talk itself, then every method from the tables.
import { z } from "zod";
import { apiMethods, type MethodName } from "../../src/protocol/api/methods.ts";
import { protocolVersion } from "../../src/protocol/api/control.ts";
import { toMethodName } from "../../src/protocol/json/json-case.ts";
import { maxPositionalParams, methodParamSchemas } from "../../src/protocol/schema/api.ts";
import { configuredFields, groups, loomNames, methodSummaries } from "../../src/protocol/schema/method-summaries.ts";

type Json = {
  type?: string;
  const?: string;
  enum?: unknown[];
  default?: unknown;
  properties?: Record<string, Json>;
  required?: string[];
  items?: Json;
  anyOf?: Json[];
  oneOf?: Json[];
};

export function printHubDocs(): string {
  const rows = Object.keys(apiMethods) as MethodName[];
  const methods = groups.flatMap(([title, nouns]) => [
    `### ${title}`,
    "",
    "| method | params | what it does | answer |",
    "|---|---|---|---|",
    ...nouns.flatMap((noun) => rows.filter((row) => row.startsWith(`${noun}.`)).map(methodLine)),
    "",
  ]);
  const loom = ["| there | here |", "|---|---|", ...loomNames.map(([theirs, ours]) => `| ${theirs} | ${ours} |`)];
  return [head, methodsHead, ...methods, ...longParams("session.open"), "", ...longParams("turn.start"), "", loomHead, ...loom, ""].join(
    "\n",
  );
}

function methodLine(row: MethodName): string {
  const { does, gives, fields } = methodSummaries[row];
  const answer = fields === undefined ? gives : `${gives}: ${fields.map((field) => `\`${field}\``).join(", ")}`;
  return `| \`${toMethodName(row)}\` | ${paramsCell(row)} | ${does} | ${answer} |`;
}

function paramsCell(row: MethodName): string {
  if (row === "turn.check")
    return "`directory`, `agent` = the configured one, `is_new` = `true`, and those of `turn.start` from `model` on";
  if (row === "turn.start" || row === "session.open") return "see below";
  const schema = schemaOf(row);
  return Object.entries(schema.properties ?? {})
    .map(([name, field]) => `\`${name}\` ${typeName(field)}${defaultWord(field, schema.required?.includes(name) ?? false)}`)
    .join("; ");
}

function longParams(row: MethodName): string[] {
  return [
    `### Params of \`${toMethodName(row)}\``,
    "",
    "| field | type | without it |",
    "|---|---|---|",
    ...fieldLines(row, schemaOf(row), ""),
  ];
}

function fieldLines(row: MethodName, schema: Json, prefix: string): string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const isNeeded = schema.required?.includes(name) ?? false;
    const usual = field.default === undefined ? "" : valueWord(field.default);
    const without = isNeeded ? "it must be given" : configuredWord(row, `${prefix}${name}`, usual);
    const type = typeName(field);
    const line = `| \`${prefix}${name}\` | ${type} | ${type === largeObject ? "each as below" : without} |`;
    return type === largeObject ? [line, ...fieldLines(row, field, `${prefix}${name}.`)] : [line];
  });
}

function configuredWord(row: MethodName, path: string, usual: string): string {
  const key = configuredFields[row]?.[path];
  const otherwise = path === "policy.sandbox" ? "`required` with `readonly` and `plan`, `auto` with the others" : usual;
  return key === undefined ? usual : `the configured \`${key}\`, else ${otherwise}`;
}

function schemaOf(row: MethodName): Json {
  return z.toJSONSchema(methodParamSchemas[row], { io: "input", unrepresentable: "any" }) as Json;
}

function typeName(field: Json): string {
  const options = field.anyOf ?? field.oneOf;
  if (options !== undefined) return options.map(typeName).join(" or ");
  if (field.const !== undefined) return `\`${field.const}\``;
  if (field.enum !== undefined) return field.enum.map((value) => `\`${String(value)}\``).join(", ");
  if (field.type === "array") return `array of ${typeName(field.items ?? {})}`;
  if (field.properties !== undefined) return objectWord(field);
  if (field.type === "object") return "any object";
  return words[field.type ?? ""] ?? field.type ?? "anything";
}

const largeObject = "object";

/** Small ones are shown whole. */
function objectWord({ properties = {}, required = [] }: Json): string {
  const names = Object.entries(properties).map(([name, field]) => {
    const shown = field.const === undefined ? name : `${name}: "${field.const}"`;
    return required.includes(name) ? shown : `${shown}?`;
  });
  return names.length > 3 ? largeObject : `\`{${names.join(", ")}}\``;
}

const words: Record<string, string> = { string: "text", integer: "whole number", boolean: "true or false" };

function defaultWord(field: Json, isNeeded: boolean): string {
  if (isNeeded || field.properties !== undefined) return "";
  return field.default === undefined ? " (optional)" : ` = ${valueWord(field.default)}`;
}

function valueWord(value: unknown): string {
  return `\`${typeof value === "string" ? value : JSON.stringify(value)}\``;
}

const head = `# The hub

<!-- Printed from tools/docs/hub.ts and the tables beside it; \`npm run docs\` rewrites it. -->

\`skein hub start\` starts a process that serves everything skein can do to other programs on this machine: sessions, trees, turns that outlive the terminal, questions, search. \`skein hub status\` says where it is, \`skein hub stop\` ends it. \`skein tui --hub auto\` is a screen over it, and \`run --detach\` leaves a turn to it. The command line needs no hub otherwise; every process that runs turns serves the same methods on a socket of its own, which is how \`attach\`, \`kill\` and \`pause\` reach a turn in another terminal.

Two clients of a few lines that really run: \`examples/hub/client.ts\` (WebSocket) and \`examples/hub/client.py\` (unix socket, nothing but the standard library).

## Connecting

\`hub.json\` in the state directory (\`skein config path\` says where that is) names \`url\`, \`socket\`, \`token_file\`, \`pid\`, \`version\` and \`protocol\`; \`skein hub status --json\` prints the same and what runs. Only you can read the file and the token, which is another one after each start.

| | WebSocket | unix socket |
|---|---|---|
| where | \`url\`, on 127.0.0.1 only | \`socket\`, mode 0600 in a directory that is only yours |
| who may | whoever shows the token: \`Authorization: Bearer <token>\`, or from a browser the subprotocols \`skein\` and the token | whoever can open the socket: you |
| a message | one text frame | one line |
| \`env\` in \`hub.hello\` | refused | taken: keys of the caller, kept in memory only |
| \`hub.stop {wait_ms?}\` | refused | stops the hub; turns have so long to finish |

A page of another origin is refused even with the token.

Messages are JSON-RPC 2.0, without batches. The first request is the handshake:

\`\`\`json
{"jsonrpc": "2.0", "id": 1, "method": "hub.hello", "params": {"protocol": ${protocolVersion}, "client": "my-tool 1.0"}}
\`\`\`

| field | |
|---|---|
| \`protocol\` | ${protocolVersion}. Another number is refused, and the answer says who has to be updated |
| \`client\` | the name and version of your program |
| \`directory\` | absolute: whose project's configuration counts; without it, where the server was started |
| \`env\` | over the unix socket only: the environment in which keys and settings are looked up, instead of the server's |
| \`trust\` | true or false instead of what was granted to the project |
| \`window\` | how many items of a feed may be on their way before you say \`feed.took\`; without it there is no such bound |

The answer is \`{protocol, version, pid, started_at}\`. The number is raised when a method changes its meaning; methods and fields are only ever added, so be kind to fields that you do not know.

## Asking

Params go by name in an object, or by position in an array (the first ${maxPositionalParams} at most, in the order of the tables). A field that does not exist is refused with the name that was probably meant. Names are snake_case and times ISO 8601 in UTC, both ways. Sessions, nodes, turns, asks and events are the records of [JSON.md](JSON.md) with some fields more: a session's \`forked_from\` and \`plan\`, a turn's \`policy\`, a node's \`kept_from\` and \`below_call\`, what a vendor wants back as \`opaque\`. Below \`input\`, \`metadata\`, \`opaque\`, \`parameters\`, \`answer_schema\`, \`value\` and \`written\` nothing is renamed: those names are others'.

A request can be taken back with the notice \`hub.cancel {id}\`: \`doctor.try_agents\` stops then, other work that has begun is finished, and the answer is an error either way. To stop a turn, use \`turn.cancel\` or \`turn.kill\`.

### Feeds

A method that feeds answers with \`{"feed": 3}\`; then come notices:

\`\`\`json
{"jsonrpc": "2.0", "method": "feed.item", "params": {"feed": 3, "item": {"type": "text.delta", "seq": 4, "n": 1, "text": "Hello"}}}
{"jsonrpc": "2.0", "method": "feed.end", "params": {"feed": 3}}
\`\`\`

\`feed.end\` comes always, with \`error\` where there was one. You may send the notices \`feed.close {feed}\`, to hear no more of it (a turn runs on), and \`feed.took {feed, count}\`, if you have set a \`window\`.

\`seq\` counts the lasting events of a session: those are stored before they are shown, and never lost. An event with \`n\` is passing, the n-th since that \`seq\`; whoever reads slowly loses some of those and nothing else. After a dropped connection, \`turn.watch\` with the last \`seq\` you saw as \`after_seq\` goes on without a gap, whichever process runs the turn.

### Errors

| code | |
|---|---|
| -32700, -32600 | no JSON, no message, or no handshake before it |
| -32601 | no such method; \`data.hint\` names those that come near |
| -32602 | wrong params; the message names the field |
| -32000 | a fault of ours: \`data.code\` is a word for programs (\`session-unknown\`, \`session-busy\`, \`ask-closed\`...), \`data.hint\` says what to do |
| -32800 | you took it back |
| -32098, -32099 | a message is too large; too much at once |

How a turn ended is no error but the \`status\` of its \`turn.ended\` event.

### Limits

A frame has at most 16 MB either way, a listener 512 connections, a connection 64 requests and 100 feeds at once; all feeds of a process together send at most 15,000 items a second. Whoever does not say hello within 10 seconds, or lets 64 MB pile up without reading, is let go. Texts have at most 10,000,000 characters, names 1,000, paths 4,096.`;

const methodsHead = `
## Methods

A type with \`=\` behind it may be left out. Paths are absolute. Sessions and nodes are named by their whole id; \`session.find\` and \`node.find\` know them by a name or the tail of an id.

Without its optional fields a turn is what \`skein run\` starts with nobody at the terminal and no flags: what is configured counts, for you and for the project that \`directory\` in \`hub.hello\` names, and \`config.values\` says what that is. What you send counts instead of it. Where only a policy's name is sent, the rest of it is what the command line would add to it.
`;

const loomHead = `## Names of the Loom

Other programs know these things by other names.
`;
