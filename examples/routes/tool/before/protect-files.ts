#!/usr/bin/env node
// Denies what would write .env files and lock files, whatever the agent, and tells the model what to do instead.
//
// It is run once for each call of a tool: one JSON object on standard input, a decision or nothing on standard output. Bun,
// and Node from 22.18 on, run this file as it is; the README of the examples says how to compile it for an older Node.
// What a shell does to a file it does not see.
import type { EventRouteInput, Json, RouteAnswer } from "herdbook";

/** Tools that change files, by their name in any agent; reading is nobody's business here. */
const writes = /^(edit|multiedit|notebookedit|write|write_file|replace|create|str_replace|apply_?patch|patch|delete)$/i;

const rules = [
  {
    file: /(^|\/)\.env(\.(?!example$|sample$|template$)[^/]*)?$/,
    why: "it holds secrets",
    instead: "Ask the human to change it, and name the variable that is needed.",
  },
  {
    file: /(^|\/)(package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|Cargo\.lock|poetry\.lock|uv\.lock|Gemfile\.lock|composer\.lock|go\.sum)$/,
    why: "the package manager writes it",
    instead: "Run the package manager instead of editing its lock file.",
  },
];

/** The paths that a tool's input names: members whose name is one of a file, and the files of a patch. */
function* paths(input: Json, name = ""): Generator<string> {
  if (typeof input === "string") {
    if (/^(file_?path|notebook_path|absolute_path|path|file|filename)$/i.test(name)) yield input;
    for (const [, path] of input.matchAll(/^\*\*\* (?:Add|Update|Delete) File: (.+)$|^\*\*\* Move to: (.+)$/gm)) {
      if (path !== undefined) yield path.trim();
    }
  } else if (Array.isArray(input)) {
    for (const item of input) yield* paths(item, name);
  } else if (input !== null && typeof input === "object") {
    for (const [key, value] of Object.entries(input)) yield* paths(value, key);
  }
}

function decide({ canonical }: EventRouteInput<"tool/before">): RouteAnswer<"tool/before"> | undefined {
  const { toolName, toolInput } = canonical.payload;
  if (toolName === undefined || toolInput === undefined || !writes.test(toolName.value)) return undefined;
  for (const path of paths(toolInput.value)) {
    const rule = rules.find(({ file }) => file.test(path));
    if (rule) return { outcome: "deny", reason: `${path} is not to be written: ${rule.why}.`, context: rule.instead };
  }
  return undefined;
}

let text = "";
process.stdin.setEncoding("utf8");
process.stdin.on("data", (piece: string) => {
  text += piece;
});
process.stdin.on("end", () => {
  const answer = decide(JSON.parse(text));
  if (answer) process.stdout.write(JSON.stringify(answer));
});
