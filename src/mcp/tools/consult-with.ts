// consult_with: asks one model one question. The model has no tools, but gets the conversation of the session.
import { resolveContextPaths } from "../turn/context-paths.ts";
import { listedFilesText, selectFiles, sendFiles } from "../turn/send-files.ts";
import { takeTurn } from "../turn/take-turn.ts";
import { tool } from "./tool.ts";

export const consultWith = tool("consult_with", {
  description: "Ask any model for its opinion. It has no tools, but sees the session and the files you send.",
  async run({ model, question, session_id, output_format, context }, ctx) {
    const files = selectFiles(resolveContextPaths(context, ctx));
    const format = output_format === undefined ? null : `Format of your answer: ${output_format}`;
    const instructions = [format, listedFilesText(files)].filter((text) => text !== null).join("\n\n");
    return takeTurn(
      {
        sessionId: session_id,
        prompt: question,
        model,
        turn: { toolLevel: "none", contextFiles: false, appendSystem: instructions || null },
        prepare: (session) => sendFiles(ctx.api, session, files),
      },
      ctx,
    );
  },
});
