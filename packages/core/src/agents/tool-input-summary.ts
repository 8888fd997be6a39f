import type { JsonValue } from '../lines/json.ts';
import { cutCharacters, cutText, readObject, readText, toOneLine } from '../records/fields.ts';

interface SummaryRule {
  /** The first of these fields that is a text is the summary. */
  fields: readonly string[];
  maxCharacters: number;
}

const path: SummaryRule = { fields: ['file_path', 'path'], maxCharacters: 1000 };
const command: SummaryRule = { fields: ['command', 'cmd', 'description'], maxCharacters: 60 };
const pattern: SummaryRule = { fields: ['pattern', 'filePattern'], maxCharacters: 40 };
const task: SummaryRule = { fields: ['description'], maxCharacters: 40 };
const web: SummaryRule = { fields: ['url', 'query', 'objective'], maxCharacters: 50 };

/** By tool name: Claude Code's, then Amp's if they differ. */
const RULES = new Map<string, SummaryRule>([
  ['Read', path],
  ['Write', path],
  ['Edit', path],
  ['Bash', command],
  ['Glob', pattern],
  ['Grep', pattern],
  ['Task', task],
  ['Agent', task],
  ['WebFetch', web],
  ['WebSearch', web],
  ['create_file', path],
  ['edit_file', path],
  ['shell_command', command],
  ['glob', pattern],
  ['read_web_page', web],
  ['web_search', web],
]);

/** More than any rule keeps, so that long commands are not processed whole. */
const MAX_UNITS = 40_000;

/** A tool's input in one short line for people, e.g. the file's path or the command; empty for unknown tools. */
export function toToolInputSummary(toolName: string, input: JsonValue | undefined): string {
  const rule = RULES.get(toolName);
  const fields = readObject(input);
  if (rule === undefined || fields === undefined) return '';
  for (const field of rule.fields) {
    const text = readText(fields[field]);
    if (text !== null) return cutText(toOneLine(cutCharacters(text, MAX_UNITS)), rule.maxCharacters);
  }
  return '';
}
