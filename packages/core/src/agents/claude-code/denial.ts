/** Beginnings of the texts that Claude Code writes as the result of a tool that was not allowed to run. */
const DENIALS = [
  /^The user doesn't want to (?:proceed with this tool use|take this action right now)/,
  /^Permission to use .{1,200} (?:has been|was) (?:auto-)?denied/,
  /^Permission for this (?:action|tool|command) (?:has been|was) denied/,
  /^Claude requested permissions? to .{1,1000}, but you haven't granted it yet/s,
  /^PreToolUse(?::\S{1,200})? hook (?:error|blocking error)/,
  /^Hook \S{1,200} (?:denied|blocked) this tool/,
];

const WRAPPER = /^(?:Error: |<tool_use_error>)+/;

/** True if an error result says that the user, a permission rule or a hook refused the tool use. */
export function isDenialText(text: string): boolean {
  const start = text.slice(0, 2048).trimStart().replace(WRAPPER, '');
  return DENIALS.some((denial) => denial.test(start));
}
