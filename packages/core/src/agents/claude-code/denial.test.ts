import { expect, it } from 'vitest';
import { isDenialText } from './denial.ts';

it.each([
  "The user doesn't want to proceed with this tool use. The tool use was rejected",
  "Error: The user doesn't want to proceed with this tool use.",
  "The user doesn't want to take this action right now. STOP what you are doing",
  'Permission to use Bash with command rm has been denied.',
  'Permission to use Bash has been auto-denied in dontAsk mode.',
  "<tool_use_error>Claude requested permissions to write to /a/b, but you haven't granted it yet.</tool_use_error>",
  'PreToolUse:Bash hook error: [check.sh]: no',
  'Hook PreToolUse:Edit denied this tool',
])('is a denial: %s', (text) => {
  expect(isDenialText(text)).toBe(true);
});

it.each([
  '',
  'Exit code 1\n(eval):1: permission denied: ./x',
  '[Request interrupted by user for tool use]',
  "Exit code 1: The user doesn't want to proceed with this tool use",
  'PostToolUse:Edit hook error',
  '<tool_use_error>File does not exist.</tool_use_error>',
])('is not a denial: %s', (text) => {
  expect(isDenialText(text)).toBe(false);
});
