import { expect, it } from 'vitest';
import { isLaterGeneration } from './model-name.ts';

it.each([
  ['claude-sonnet-5', 'claude-sonnet-4-5'],
  ['claude-sonnet-4-5-20250929', 'claude-3-7-sonnet-20250219'],
  ['us.anthropic.claude-opus-4-6-v1:0', 'anthropic/claude-opus-4.5'],
  ['gpt-5.3-codex', 'gpt-5-codex'],
  ['gpt-5.5', 'opencode/gpt-5.3-codex'],
  ['gpt-5.4-mini', 'gpt-5.1-codex-mini'],
  ['gpt-5.3-codex-spark', 'gpt-5-codex'],
  ['gpt-5.5', 'gpt-5.3-codex-spark'],
  ['gemini-2.5-flash-lite', 'gemini-2.0-flash-lite-001'],
])('%s is a later generation of %s, and not the reverse', (later, earlier) => {
  expect(isLaterGeneration(later, earlier)).toBe(true);
  expect(isLaterGeneration(earlier, later)).toBe(false);
});

it.each([
  ['claude-sonnet-4-5', 'claude-sonnet-4-5-20250929'],
  ['claude-opus-5', 'claude-sonnet-4-5'],
  ['gpt-5', 'gpt-5-codex'],
  ['gemini-2.5-flash', 'gemini-2.0-pro'],
  ['model-2', 'model-1'],
])('%s and %s do not succeed each other', (one, other) => {
  expect(isLaterGeneration(one, other)).toBe(false);
  expect(isLaterGeneration(other, one)).toBe(false);
});
