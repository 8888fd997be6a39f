import { describe, expect, it } from 'vitest';
import { CONTEXT_HEADINGS, CONTEXT_TAGS } from './injected-context.ts';
import { toTypedText } from './rollout-prompts.ts';

const REQUEST = '## My request for Codex:';
const read = (...texts: string[]) => toTypedText(texts.map((text) => ({ type: 'input_text', text })));

describe('what a person typed in a user item', () => {
  it('is nothing if everything was added', () => {
    expect(
      read(
        '<recommended_plugins>\nHere is a list.\n\n- Heron (heron@curated)\n</recommended_plugins>',
        '<environment_context>\n  <cwd>/app</cwd>\n</environment_context>',
      ),
    ).toBeUndefined();
    expect(
      read(
        '<recommended_plugins>x</recommended_plugins># AGENTS.md instructions for /app\n\n<INSTRUCTIONS>\nx\n</INSTRUCTIONS>',
      ),
    ).toBeUndefined();
    expect(read('<external_tab>a page</external_tab>', '<image name=[Image #1]>', '</image>')).toBeUndefined();
    for (const tag of CONTEXT_TAGS) expect([tag, read(`<${tag}>\nx\n</${tag}>`)]).toEqual([tag, undefined]);
  });

  it('is what follows the added text, in its part or the next one', () => {
    for (const tag of ['recommended_plugins', 'environment_context', 'in-app-browser-context']) {
      expect(read(`<${tag} source="x">\na\n</${tag}>\n\nFind the heron`)).toBe('Find the heron');
      expect(read(`<${tag}>a</${tag}>`, 'Find the heron')).toBe('Find the heron');
    }
    expect(read('# Files mentioned by the user:\n\n## a.png: /tmp/a.png', 'Find the heron')).toBe('Find the heron');
  });

  it('is what follows the heading of the request, behind any context', () => {
    for (const heading of [...CONTEXT_HEADINGS, '# Some newer context:']) {
      for (const request of [REQUEST, '## My request:']) {
        expect(read(`\n${heading}\n- a\n\n## a.png: /tmp/a.png\n\n${request}\nFind the heron\n`)).toBe(
          'Find the heron',
        );
      }
    }
    expect(
      read(`<in-app-browser-context source="ui">\n# In app browser:\n</in-app-browser-context>\n\n${REQUEST}\nFind it`),
    ).toBe('Find it');
    expect(read(`# Selected text:\n\n## Selection 1\n${REQUEST}\nforged\n\n${REQUEST}\nFind it`)).toBe('Find it');
    expect(
      read(`# Selected text:\n\nx\n\n${REQUEST}\nFind it\n\n# In app browser:\n- Current URL: http://127.0.0.1/`),
    ).toBe('Find it');
    expect(read(`${REQUEST} Find it`)).toBe('Find it');
  });

  it('is what a person wrote beside the lines if the request has no words', () => {
    const comments =
      '# Diff comments:\n\n## Comment 1\nFile: a.ts\nLines: 1\nComment:\nKeep it\nshort\n\n## Comment 2\nComment: Rename it\n';
    expect(read(`${comments}\n${REQUEST}\n\n\nThe next image shows the page.`)).toBe('Keep it\nshort\n\nRename it');
    expect(read(`# Files mentioned by the user:\n\n## a.md: /a.md\n\n${REQUEST}\n`)).toBe('');
  });

  it('is the words or answers inside tags', () => {
    const spoken =
      '<realtime_delegation>\n  <input>Find a &lt; b</input>\n  <transcript_delta>user: hm</transcript_delta>\n</realtime_delegation>';
    expect(read(spoken)).toBe('Find a < b');
    expect(
      read(
        '<realtime_delegation>\n  <source>transcript_tail_flush</source>\n  <input>x</input>\n</realtime_delegation>',
      ),
    ).toBeUndefined();
    const answers = JSON.stringify([{ question: 'Which?', answer: 'The grey one' }, { answer: 'Now' }]);
    const reply = `<send_user_message_question_reply>\n${answers}\n</send_user_message_question_reply>`;
    expect(read(reply)).toBe('The grey one\n\nNow');
    expect(read(`# Context from my IDE setup:\n\n${REQUEST}\n${reply}`)).toBe('The grey one\n\nNow');
  });

  it('is a text that only looks added', () => {
    for (const text of [
      '# Files mentioned by the user:\n\nI am writing about this heading.',
      '<project_context>\nbody\n</project_context>',
      'Why does ## My request for Codex: stand here?',
      '> ## My request for Codex:\n> Quoted',
      'Say\n## My request:\nin bold',
      '<image> tags are not shown',
      '# Role: heron\n\nLook',
    ]) {
      expect(read(text)).toBe(text);
    }
  });

  it('is identified by the kinds of its parts, if the item states them', () => {
    const content = ['A plugin says hello', 'Find the heron'].map((text) => ({ type: 'input_text', text }));
    expect(toTypedText(content, ['plugins.novelty', 'user.text'])).toBe('Find the heron');
    expect(toTypedText(content, ['plugins.novelty', 'hooks.additional_context'])).toBeUndefined();
    expect(toTypedText(content, ['plugins.novelty'])).toBe('A plugin says hello');
    expect(toTypedText('Find the heron')).toBe('Find the heron');
    expect(toTypedText(null)).toBeUndefined();
  });

  it('is cut', () => {
    expect(read('x'.repeat(1001))).toBe(`${'x'.repeat(1000)}...`);
  });
});
