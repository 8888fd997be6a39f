/** Runs where it should not. Each payload says which one it was. */
const run = (name: string): string => `window.hostile=(window.hostile||'')+'${name};'`;

/** For names that are no part of a transcript. */
export const HOSTILE_CODE = `<img src=x onerror="${run('name')}">`;

const ELSEWHERE = 'http://elsewhere.invalid';
const ESC = '\u001b';

/** Content of a text to be run, to ask another server, or to look like something else. */
export const PAYLOADS = [
  `<script>${run('script')}</script>`,
  `<img src=x onerror="${run('img')}">`,
  `<svg onload="${run('svg')}"><a xlink:href="javascript:${run('xlink')}"><text>a</text></a></svg>`,
  `<iframe src="${ELSEWHERE}/frame" srcdoc="<script>${run('srcdoc')}</script>"></iframe>`,
  `<style>@import '${ELSEWHERE}/style.css'; body{background:url(${ELSEWHERE}/body)}</style>`,
  `<link rel=stylesheet href="${ELSEWHERE}/link.css"><base href="${ELSEWHERE}/"><meta http-equiv=refresh content="0;url=${ELSEWHERE}/refresh">`,
  `<form action="${ELSEWHERE}/form"><button autofocus onfocus="${run('focus')}">a</button></form>`,
  `</title></textarea></style></noscript></template><script>${run('closed')}</script>`,
  `![image](${ELSEWHERE}/image.png) ![svg](data:image/svg+xml;base64,PHN2Zy8+)`,
  `[link](javascript:${run('link')}) <javascript:${run('autolink')}> [data](data:text/html,<script>${run('data')}</script>)`,
  `[ref]: javascript:${run('ref')}\n\n[ref] [vb](VBScript:msgbox) [tab](java\tscript:${run('tab')})`,
  `\`\`\`html"><img src=x onerror="${run('fence')}">\n<script>${run('code')}</script>\n\`\`\``,
  `| a | b |\n| - | - |\n| <img src=x onerror="${run('cell')}"> | [x](javascript:${run('cell link')}) |`,
  `{{constructor.constructor('${run('template')}')()}} \${${run('literal')}}`,
  `${ESC}]8;;javascript:${run('osc')}${ESC}\\text${ESC}]8;;${ESC}\\ ${ESC}]0;title\u0007 ${ESC}[31m<b onmouseover="${run('ansi')}">red</b>${ESC}[0m`,
  'user\u202egpj.exe \u2066hidden\u2069 \u0000 \u0007 \ufeff',
  '"><script src="http://elsewhere.invalid/src.js"></script>',
  `${'> '.repeat(300)}deep ${'['.repeat(300)}`,
] as const;

const at = (second: number): string => new Date(Date.UTC(2026, 5, 1, 12, 0, second)).toISOString();

/** A Claude Code session with the payloads in every field that is shown. */
export function toHostileTranscript(sessionId: string): string {
  const all = PAYLOADS.join('\n\n');
  const [first = ''] = PAYLOADS;
  let second = 0;
  const line = (fields: object): object => ({
    sessionId,
    uuid: `uuid-${second}`,
    timestamp: at(second++),
    cwd: `/home/${first}`,
    gitBranch: PAYLOADS[1],
    version: '2.1.0',
    ...fields,
  });
  const call = (id: string, name: string, input: object): object =>
    line({
      type: 'assistant',
      message: {
        id: `msg-${id}`,
        role: 'assistant',
        model: 'claude-sonnet-4-5',
        content: [{ type: 'tool_use', id, name, input }],
        stop_reason: 'tool_use',
        usage: { input_tokens: 10, output_tokens: 5 },
      },
    });
  const result = (id: string, content: unknown, isError = false): object =>
    line({
      type: 'user',
      message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content, is_error: isError }] },
    });
  const svg = Buffer.from(
    `<svg xmlns="http://www.w3.org/2000/svg"><script>${run('svg image')}</script></svg>`,
  ).toString('base64');
  const lines = [
    { type: 'summary', summary: `${PAYLOADS[0]} ${PAYLOADS[1]}`, leafUuid: 'uuid-0' },
    line({ type: 'user', message: { role: 'user', content: all } }),
    line({
      type: 'assistant',
      message: {
        id: 'msg-a',
        role: 'assistant',
        model: `<img src=x onerror="${run('model')}">`,
        content: [
          { type: 'thinking', thinking: all, signature: 'x' },
          { type: 'text', text: all },
        ],
        stop_reason: 'end_turn',
        usage: { input_tokens: 10, output_tokens: 5 },
      },
    }),
    call('t1', 'Bash', { command: all, description: all }),
    result('t1', all, true),
    call('t2', 'Edit', { file_path: PAYLOADS[1], old_string: all, new_string: `${all}\nmore` }),
    result('t2', all),
    call('t3', 'TodoWrite', {
      todos: PAYLOADS.map((content) => ({ content, status: PAYLOADS[0], activeForm: content })),
    }),
    result('t3', 'done'),
    call('t4', 'ExitPlanMode', { plan: all }),
    result('t4', all),
    call('t5', 'AskUserQuestion', {
      questions: [{ question: all, header: 'a', options: [{ label: all, description: all }] }],
    }),
    result('t5', all),
    call('t6', 'Task', { prompt: all, description: all, subagent_type: PAYLOADS[1] }),
    result('t6', [
      { type: 'text', text: all },
      { type: 'image', source: { type: 'base64', media_type: 'image/svg+xml', data: svg } },
    ]),
    call('t7', `<img src=x onerror="${run('tool')}">`, { [PAYLOADS[1]]: all, url: `javascript:${run('url')}` }),
    result('t7', all),
    line({
      type: 'user',
      message: {
        role: 'user',
        content: [{ type: 'image', source: { type: 'base64', media_type: 'image/svg+xml', data: svg } }],
      },
    }),
    line({
      type: 'system',
      subtype: 'api_error',
      level: 'error',
      error: { message: all },
      retryInMs: 500,
      retryAttempt: 1,
    }),
  ];
  return `${lines.map((each) => JSON.stringify(each)).join('\n')}\n`;
}

/**
 * A Claude Code session that has the payload for every name, such as title, project, branch, version, model, tools,
 * files, skill, and so on.
 */
export function toHostileNames(sessionId: string, payload: string): string {
  let number = 0;
  const common = { sessionId, cwd: `/home/${payload}`, gitBranch: payload, version: payload };
  const line = (fields: object): object => ({
    ...common,
    uuid: `${sessionId}-${number}`,
    timestamp: at(number++),
    ...fields,
  });
  const calls: [name: string, input: object][] = [
    [payload, { payload }],
    [`mcp__${payload}__${payload}`, { payload }],
    ['Skill', { skill: payload }],
    ['Bash', { command: `${payload.replaceAll(/\s/g, '')} argument`, description: payload }],
    ['Read', { file_path: `/home/${payload}` }],
    ['Edit', { file_path: `/home/${payload}`, old_string: payload, new_string: `${payload} more` }],
    ['Task', { subagent_type: payload, description: payload, prompt: payload }],
  ];
  const content = calls.map(([name, input], index) => ({
    type: 'tool_use',
    id: `${sessionId}-t${index}`,
    name,
    input,
  }));
  const results = content.map(({ id }, index) => ({
    type: 'tool_result',
    tool_use_id: id,
    // The first ones are refused, as reports have a view of those.
    content: index < 2 ? "The user doesn't want to proceed with this tool use." : payload,
    is_error: index < 2,
  }));
  const usage = { input_tokens: 10, output_tokens: 5 };
  const message = { id: `${sessionId}-m`, role: 'assistant', model: payload, stop_reason: 'tool_use', usage, content };
  const lines = [
    { type: 'summary', summary: payload, leafUuid: `${sessionId}-0` },
    line({ type: 'user', message: { role: 'user', content: payload } }),
    line({ type: 'assistant', message }),
    line({ type: 'user', message: { role: 'user', content: results } }),
    { type: 'pr-link', sessionId, prNumber: 1, prUrl: `https://${payload}`, prRepository: payload, timestamp: at(9) },
    { type: 'pr-link', sessionId, prNumber: 2, prUrl: payload, prRepository: payload, timestamp: at(9) },
    { type: payload, sessionId, content: payload },
    `{"type": "user", ${payload}`,
  ];
  return lines
    .map((each) => `${typeof each === 'string' ? each.replaceAll('\n', ' ') : JSON.stringify(each)}\n`)
    .join('');
}
