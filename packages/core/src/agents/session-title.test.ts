import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_TITLE_CHARACTERS, toSessionTitle } from './session-title.ts';

const titleOf = (initialPrompt: string | null, agentTitle: string | null = null, givenTitle?: string): string =>
  toSessionTitle({ givenTitle, agentTitle, initialPrompt, sessionId: 'the-id' });

describe('toSessionTitle', () => {
  it('prefers what a user calls the session, then the agent’s own title, then the prompt, then the ID', () => {
    expect(titleOf('Find the heron', 'Herons', 'My birds')).toBe('My birds');
    expect(titleOf('Find the heron', 'Herons')).toBe('Herons');
    expect(titleOf('Find the heron')).toBe('Find the heron');
    expect(titleOf(null)).toBe('the-id');
    expect(titleOf(' \n```\n---\n', '  ')).toBe('the-id');
  });

  it.each([
    ['Implement the following plan:\n\n# Plan: Count the herons\n\n## Context\n\nMany.', 'Count the herons'],
    ['Implement the following plan:\n\n# Plan\n\n## Count the herons', 'Count the herons'],
    ['Implement the following plan:', 'Implement the following plan:'],
    ['# Fix: herons are lost\nMore', 'Fix: herons are lost'],
    ['I need to know:\n\n1. how herons nest\n2. why', 'I need to know: 1. how herons nest'],
    ['I want to move this\n  lake to the\n  north. Then more.', 'I want to move this lake to the north. Then more.'],
    ['Find it.\nthen rest', 'Find it.'],
    ['- **Find** the [heron](https://example.org/heron)', 'Find the heron'],
    ['[Image #1]\n```\nWhat is this?', 'What is this?'],
    ['[$birds:watch](/home/ada/skills/watch) Look\nfor the heron', '$birds:watch Look for the heron'],
  ])('takes the line that says what was asked of %j', (prompt, title) => {
    expect(titleOf(prompt)).toBe(title);
  });

  it.each([
    ['<command-message>watch is running</command-message>\n<command-name>/watch</command-name>', '/watch'],
    ['<command-name>/watch</command-name>\n<command-args>the heron</command-args>', 'the heron'],
    ['<system-reminder>Be brief.</system-reminder>\nFind the heron', 'Find the heron'],
    ['<system-reminder>Be brief', 'the-id'],
    ['<environment_context>\n<cwd>/app</cwd>\n</environment_context>\n\nFind the heron', 'Find the heron'],
    [
      '<bird_task>\n<source_thread_id>019f</source_thread_id>\n<input>Find the heron</input>\n</bird_task>',
      'Find the heron',
    ],
    ['# Files mentioned by the user:\n\n## a.md: /a.md\n\n## My request for Codex:\nFind the heron', 'Find the heron'],
  ])('leaves out what surrounds the request in %j', (prompt, title) => {
    expect(titleOf(prompt)).toBe(title);
  });

  it.each([
    ['{"type":"task","prompt":"Find the heron\\nSoon"}', 'Find the heron'],
    ['[{"type":"text","text":"Find the heron"}]', 'Find the heron'],
    ['{"type":"task","prompt":"Find the \\"heron\\" and th', 'Find the "heron" and th'],
    ['{"a":[1,2]}', 'the-id'],
  ])('shows the text of the JSON value %j, never the value', (prompt, title) => {
    expect(titleOf(prompt)).toBe(title);
  });

  it('is one line with a bounded length, for any text', () => {
    const piece = fc.constantFrom(
      '<a>',
      '</a>',
      '<system-reminder>',
      '{"text":"',
      '[{"',
      '# ',
      '\n',
      '](',
      '[x',
      'plan:',
      '\0',
      '\\',
      '"',
      'é',
      '😀',
    );
    const text = fc.array(fc.oneof(piece, fc.string()), { maxLength: 200 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(text, fc.option(text, { nil: null }), (prompt, agentTitle) => {
        const title = titleOf(prompt, agentTitle);
        expect(title).not.toMatch(/[\p{Cc}\u2028\u2029]/u);
        expect([...new Intl.Segmenter().segment(title)].length).toBeLessThanOrEqual(MAX_TITLE_CHARACTERS);
        expect(title).not.toBe('');
      }),
    );
  });
});
