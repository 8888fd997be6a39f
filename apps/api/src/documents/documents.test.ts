import type { ContentBlock, Message, Session } from '@recount/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatHtmlDocument } from './html-document.ts';
import { formatMarkdownDocument } from './markdown-document.ts';
import { redactDocument, type SessionDocument, sanitizeDocument } from './session-document.ts';

const LAYOUT = { timeZone: 'Asia/Kathmandu', currencyLabel: 'EUR' };

const toBlock = (fields: Partial<ContentBlock>): ContentBlock =>
  ({
    block_type: 'text',
    tool_use_id: null,
    tool_result_id: null,
    tool_name: null,
    tool_kind: null,
    tool_input: null,
    content_text: null,
    thinking_text: null,
    result_text: null,
    is_error: null,
    metadata: {},
    line_number: 1,
    ...fields,
  }) as ContentBlock;

const toMessage = (message_type: string, line_number: number, blocks: Partial<ContentBlock>[]): Message =>
  ({
    message_type,
    line_number,
    model: message_type === 'assistant' ? 'claude-opus-5' : null,
    timestamp: '2026-03-02T10:00:00.000Z',
    cost_usd: message_type === 'assistant' ? 0.25 : null,
    metadata: {},
    is_sidechain: false,
    content_blocks: blocks.map(toBlock),
  }) as unknown as Message;

function toDocument(text: string, name = 'Bash'): SessionDocument {
  const session = {
    session_id: 'aaaa',
    agent: 'claude-code',
    title: text,
    initial_prompt: text,
    project: text,
    git_branch: text,
    models: [text],
    first_timestamp: '2026-03-02T10:00:00.000Z',
    total_messages: 3,
    tokens_in: 1,
    tokens_out: 2,
    cache_read: 3,
    cache_write: 4,
    cost_estimate_usd: 1.5,
  } as unknown as Session;
  const messages = [
    toMessage('user', 1, [{ content_text: text }]),
    toMessage('assistant', 2, [
      { block_type: 'thinking', thinking_text: text },
      { content_text: text },
      { block_type: 'tool_use', tool_name: name, tool_use_id: 'a', tool_kind: 'shell', tool_input: { command: text } },
      {
        block_type: 'tool_use',
        tool_name: name,
        tool_use_id: 'b',
        tool_kind: 'edit',
        tool_input: { old_string: text, new_string: `${text}!` },
      },
    ]),
    toMessage('user', 3, [
      { block_type: 'tool_result', tool_result_id: 'a', is_error: true, result_text: text },
      { block_type: text, content_text: null },
    ]),
  ];
  return { session, messages, isCut: false, subagents: [{ session, messages, isCut: true, subagents: [] }] };
}

/** Every tag that the page uses; all attributes are the page's own, except addresses of links. */
const TAGS =
  /^<(!doctype html|\/?(html( lang="en")?|head|body|main|title|style|section|h1|h2|b|i|em|strong|code|pre|p|br|hr|ul|ol( start="\d+")?|li|table|thead|tbody|tr|td|th|td align="\w+"|th align="\w+"|blockquote|details|details class="failed" open|summary|ins|del|article|article class="\w+" id="line-\d+"|p class="(facts|end|heading)"|span|span class="subject"|a|a href="(https?:\/\/|mailto:)[^"<>]*" rel="noopener noreferrer nofollow"|meta (charset|http-equiv|name)="[^<>]*"))>$/i;

function expectInert(html: string): void {
  const page = html.replace(/<style>[\s\S]*?<\/style>/, '');
  for (const [tag] of page.matchAll(/<[^>]*>?/g)) expect(tag).toMatch(TAGS);
}

const HOSTILE = [
  '<script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  '"><svg/onload=alert(1)>',
  "' onmouseover='alert(1)",
  '<kbd><img/src=x onerror=alert(1)//',
  '[a](javascript:alert(1)) ![b](https://evil.example/x.png) <https://evil.example/"onclick=alert(1)>',
  '[a]: javascript:alert(1)\n\n[a]',
  '[x](https://e.example/"onclick="alert(1))',
  '</style></title></details></pre><iframe srcdoc="<script>1</script>">',
  '```html\n<b onclick=alert(1)>\n```\n`<i onclick=1>`',
  '| a | b |\n|:--|--:|\n| <u onclick=1> | [l](data:text/html,x) |',
  '- [x] <a href="javascript:1">done</a>\n- [ ] &lt;script&gt;',
  '\u202Egnp.exe \u001B[31m \u0000',
  '<!-- --><![CDATA[ <?php ?>',
];

describe('a result stored in a file kept with the transcript', () => {
  const path = '/home/ada/.claude/projects/-app/0b8f2a51-7c1d-4f0e-9a63-000000000001/tool-results/toolu_<b>.txt';
  const withResult = (result: Partial<ContentBlock>): SessionDocument => {
    const document = { ...toDocument('x'), subagents: [] };
    const use = { block_type: 'tool_use', tool_name: 'Bash', tool_use_id: 'a', tool_input: { command: 'ls' } } as const;
    const messages = [
      toMessage('assistant', 1, [use]),
      toMessage('user', 2, [{ block_type: 'tool_result', tool_result_id: 'a', ...result }]),
    ];
    return { ...document, messages };
  };
  const result_text = `Output too large (56KB). Full output saved to: ${path.replace('<b>', 'b')}\n\nPreview (first 2KB):\nx`;
  const attachment = { id: '01', session_id: 's', path: 'tool-results/toolu_<b>.txt', size_bytes: 56_000 };

  it('is shown as left out, with its size', () => {
    const document = withResult({ result_text, attachment });
    const note = 'The whole result, 56,000 bytes in tool-results/toolu';
    const html = formatHtmlDocument(document, LAYOUT);
    expectInert(html);
    expect(html).toContain(`<p class="end">${note}_&lt;b&gt;.txt, is left out here.</p>`);
    expect(formatMarkdownDocument(document, LAYOUT)).toContain(`*${note}\\_\\<b\\>.txt, is left out here.*`);
    const sanitized = sanitizeDocument(document);
    for (const text of [formatHtmlDocument(sanitized, LAYOUT), JSON.stringify(sanitized)]) {
      expect(text).not.toContain('toolu_');
    }
  });

  it('is shown as missing if it was never uploaded', () => {
    const document = withResult({ result_text });
    const note = 'The whole result was saved in tool-results/toolu_b.txt, which is not stored.';
    expect(formatHtmlDocument(document, LAYOUT)).toContain(note);
    expect(formatMarkdownDocument(document, LAYOUT)).toContain(note.replace('_', '\\_'));
    expect(formatHtmlDocument(withResult({ result_text: 'x' }), LAYOUT)).not.toContain('The whole result');
  });
});

it('says how many parts of a message are left out', () => {
  const use = { block_type: 'tool_use', tool_name: 'Bash', tool_use_id: 'a', tool_input: { command: 'ls' } } as const;
  const result = { block_type: 'tool_result', tool_result_id: 'a', result_text: 'a' };
  const messages = [
    { ...toMessage('assistant', 1, [use]), left_out_block_count: 12_000 },
    // Its result is shown with the call.
    { ...toMessage('user', 2, [result]), left_out_block_count: 345 },
  ];
  const document = { ...toDocument('x'), subagents: [], messages };
  const note = '12,345 more parts are in the raw transcript only.';
  for (const text of [formatHtmlDocument(document, LAYOUT), formatMarkdownDocument(document, LAYOUT)])
    expect(text.split(note)).toHaveLength(2);
});

it('says that a text is only the beginning', () => {
  const cut = { metadata: { truncated: true, original_byte_length: 56_000 } };
  const messages = [
    toMessage('assistant', 1, [
      { block_type: 'thinking', thinking_text: 'a', ...cut },
      { content_text: 'a', ...cut },
      { block_type: 'tool_use', tool_name: 'Bash', tool_use_id: 'a', tool_input: '{"command": "ls', ...cut },
    ]),
    toMessage('user', 2, [{ block_type: 'tool_result', tool_result_id: 'a', result_text: 'a', ...cut }]),
  ];
  const document = { ...toDocument('x'), subagents: [], messages };
  const note = 'This is the beginning of 56,000 bytes. The raw transcript has the whole.';
  for (const text of [formatHtmlDocument(document, LAYOUT), formatMarkdownDocument(document, LAYOUT)])
    expect(text.split(note)).toHaveLength(5);
  expect(JSON.stringify(sanitizeDocument(document))).toContain('[1 words, and more]');
});

describe('formatHtmlDocument', () => {
  it('escapes everything from the transcript', () => {
    for (const text of HOSTILE) {
      const html = formatHtmlDocument(toDocument(text, text), LAYOUT);
      expectInert(html);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
      expect(html).not.toMatch(/[\u202e\u001b\u0000]/);
    }
    const pieces = fc.array(
      fc.constantFrom(...HOSTILE, '<', '>', '`', '```', '\n', '  ', '*', '_', '|', '[', '](', ')', '"', '&'),
      {
        maxLength: 12,
      },
    );
    fc.assert(fc.property(pieces, (parts) => expectInert(formatHtmlDocument(toDocument(parts.join('')), LAYOUT))));
  });

  it('shows the conversation with who, when, what it cost, calls with their results, edits, sub-agents', () => {
    const html = formatHtmlDocument(toDocument('Say **it**'), LAYOUT);
    expect(html).toContain('<h2>You · 2026-03-02 15:45 Asia/Kathmandu · line 1</h2>\n<p>Say <strong>it</strong></p>');
    expect(html).toContain('claude-opus-5 · 2026-03-02 15:45 Asia/Kathmandu · 0.2500 EUR · line 2');
    expect(html).toContain(
      '<details class="failed" open><summary><b>Bash</b> (failed) <span class="subject">Say **it**</span></summary><pre>Say **it**</pre><pre>Say **it**</pre></details>',
    );
    expect(html).toContain('<pre><del>Say **it**</del><ins>Say **it**!</ins></pre>');
    expect(html).toContain('<section><h1>Sub-agent: Say **it**</h1>');
    expect(html).toContain('The rest is left out');
  });
});

describe('formatMarkdownDocument', () => {
  it('keeps texts in their places', () => {
    const markdown = formatMarkdownDocument(toDocument('a ```` b <script>x</script>'), LAYOUT);
    expect(markdown).toContain('# a \\`\\`\\`\\` b \\<script\\>');
    expect(markdown).toContain('`````\na ```` b <script>x</script>\n`````');
    expect(markdown).toContain('a ```` b &lt;script>x&lt;/script>');
    expect(markdown).toContain('`````diff\n- a');
    expect(markdown).toContain('**Bash** (failed)');
  });
});

const SECRET = `ghp_${'a1B2c3D4e5F6'.repeat(3)}`;

it('removes secrets everywhere', async () => {
  const { document, counts } = await redactDocument(toDocument(`token ${SECRET} end`));
  expect(JSON.stringify(document)).not.toContain(SECRET);
  expect(formatHtmlDocument(document, LAYOUT)).toContain('token [REDACTED:github] end');
  expect(counts.github).toBeGreaterThan(10);
});

it('keeps only the structure of a sanitized document', () => {
  const text = 'private words of somebody';
  const json = JSON.stringify({ ...sanitizeDocument(toDocument(text)), models: [] });
  // Models remain.
  expect(json.replaceAll(`"models":["${text}"]`, '').replaceAll(`"block_type":"${text}"`, '')).not.toContain('private');
  expect(json).toContain('[4 words]');
  expect(json).toContain('"tool_name":"Bash"');
});
