import { cutCharacters, isJsonObject } from '../../records/fields.ts';
import type { JsonValue } from '../../rows.ts';

const MAX_PROMPT_CHARACTERS = 1000;

/** Prefixes of texts that Codex writes in the user's name. */
const GENERATED_PREFIXES = [
  '# AGENTS.md instructions',
  '<environment_context>',
  '<user_instructions>',
  '<INSTRUCTIONS>',
  '<turn_aborted>',
  '<permissions instructions>',
  '<collaboration_mode>',
  '<apps_instructions>',
  '<plugins_instructions>',
  '<skills_instructions>',
  '<skill>',
  '<model_switch>',
  '<subagent_notification>',
  '<user_shell_command>',
  '<hook_prompt',
  '<goal_context>',
  '<codex_internal_context',
  '<realtime_conversation>',
  '<image',
  '</image>',
];

/** Editor extensions put this between the context that they add and the user's text. */
const EDITOR_PREFIX = '# Context from my IDE setup:';
const EDITOR_MARK = /^## My request for Codex:\s*/m;

/** What a person typed in a user item, cut to 1,000 characters and `...`; undefined if nobody typed it. */
export function toTypedText(content: JsonValue | undefined): string | undefined {
  const parts = typeof content === 'string' ? [content] : Array.isArray(content) ? content : [];
  const texts = parts.flatMap((part) => {
    const text = isJsonObject(part) ? part.text : part;
    return typeof text === 'string' ? [text.trim()] : [];
  });
  const typed = texts.find((text) => text !== '' && !GENERATED_PREFIXES.some((prefix) => text.startsWith(prefix)));
  if (typed === undefined) return undefined;
  const mark = typed.startsWith(EDITOR_PREFIX) ? EDITOR_MARK.exec(typed) : null;
  const text = mark === null ? typed : typed.slice(mark.index + mark[0].length);
  return text.length > MAX_PROMPT_CHARACTERS ? `${cutCharacters(text, MAX_PROMPT_CHARACTERS)}...` : text;
}
