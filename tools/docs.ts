// Rewrites the documents that are printed from tables, and draws the pictures from real sessions. Tests check that each
// file equals its printed form.
import { printConfigDocs } from "./docs/config.ts";
import { printJsonDocs } from "./docs/json.ts";
import { printHubDocs } from "./docs/hub.ts";
import { printRolesDocs } from "./docs/roles.ts";
import { printKeysDocs } from "./docs/keys.ts";
import { drawPictures } from "./pictures/scenes.ts";

const docs = `${import.meta.dir}/../docs`;
await Bun.write(`${docs}/CONFIG.md`, printConfigDocs());
await Bun.write(`${docs}/JSON.md`, printJsonDocs());
await Bun.write(`${docs}/HUB.md`, printHubDocs());
await Bun.write(`${docs}/KEYS.md`, printKeysDocs());
await Bun.write(`${docs}/ROLES.md`, printRolesDocs());
for (const [name, svg] of Object.entries(await drawPictures())) await Bun.write(`${docs}/pictures/${name}`, svg);
