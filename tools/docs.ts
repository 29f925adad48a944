// Rewrites the documents that are printed from tables; tests hold them to the printout.
import { printConfigDocs } from "../src/config/docs.ts";
import { printJsonDocs } from "../src/protocol/schema/docs.ts";
import { printHubDocs } from "../src/protocol/schema/hub-docs.ts";
import { printRolesDocs } from "../src/roles/docs.ts";
import { printKeysDocs } from "../src/tui/docs.ts";

const docs = `${import.meta.dir}/../docs`;
await Bun.write(`${docs}/CONFIG.md`, printConfigDocs());
await Bun.write(`${docs}/JSON.md`, printJsonDocs());
await Bun.write(`${docs}/HUB.md`, printHubDocs());
await Bun.write(`${docs}/KEYS.md`, printKeysDocs());
await Bun.write(`${docs}/ROLES.md`, printRolesDocs());
