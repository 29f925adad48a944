// consult_with: one question to one model, which has no tools and knows what was said in the session.
import { consultWithInput, turnOutput } from "../../protocol/schema/mcp.ts";
import { resolveContextPaths } from "../turn/context-paths.ts";
import { resolveModel } from "../turn/resolve-model.ts";
import { namedFilesText, selectFiles, sendFiles } from "../turn/send-files.ts";
import { takeTurn } from "../turn/take-turn.ts";
import { tool } from "./tool.ts";

export const consultWith = tool({
  name: "consult_with",
  description: "Ask any model for its opinion. It has no tools, but knows the session and the files you send.",
  input: consultWithInput,
  output: turnOutput,
  async run({ model, question, session_id, output_format, context }, place) {
    const files = selectFiles(resolveContextPaths(context, place));
    const format = output_format === undefined ? null : `Format of your answer: ${output_format}`;
    const told = [format, namedFilesText(files)].filter((text) => text !== null).join("\n\n");
    return takeTurn(
      {
        sessionId: session_id,
        prompt: question,
        agent: "native",
        model: await resolveModel(place.api, model),
        turn: { toolLevel: "none", contextFiles: false, appendSystem: told || null },
        prepare: (session) => sendFiles(place.api, session, files),
      },
      place,
    );
  },
});
