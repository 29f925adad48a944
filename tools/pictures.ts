// Draws the pictures of the documents again, from real sessions with a scripted model.
import { drawPictures } from "./pictures/scenes.ts";

for (const [name, svg] of Object.entries(await drawPictures())) await Bun.write(`${import.meta.dir}/../docs/pictures/${name}`, svg);
