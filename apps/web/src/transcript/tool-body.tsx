import {
  describeToolInput,
  type ShownBlock,
  type ShownMessage,
  type ToolStep,
  toEdits,
  toVisible,
} from '@recount/contract/conversation';
import { lazy, type ReactNode, Suspense, useContext } from 'react';
import { formatBytes } from '../format/values.ts';
import { Code } from './code.tsx';
import { useExpanded } from './expansion.ts';
import { LongText, Plain } from './fold.tsx';
import { Markdown } from './markdown.tsx';
import { toLinePlace, useRawLine } from './raw-line.ts';
import { readPatch } from './read-patch.ts';
import { Terminal } from './terminal.tsx';
import { TranscriptContext } from './transcript-context.ts';
import { TranscriptImage } from './transcript-image.tsx';

const SHOWN_LINES = 14;
const AttachedResult = lazy(async () => ({ default: (await import('./attached-result.tsx')).AttachedResult }));
const Patch = lazy(async () => ({ default: (await import('./patch.tsx')).Patch }));
const EditedText = lazy(async () => ({ default: (await import('./edited-text.tsx')).EditedText }));

type Input = Readonly<Record<string, unknown>>;

const toInput = (value: unknown): Input => (typeof value === 'object' && value !== null ? (value as Input) : {});

/** The input and result of a call, in suitable formats. */
export function ToolBody({ step: { use, result } }: { step: ToolStep<ShownMessage> }): ReactNode {
  const output = result === undefined ? null : <Result block={result} kind={use.tool_kind} />;
  const change = toChange(use);
  if (change === null)
    return (
      <>
        <CallInput use={use} />
        {output}
      </>
    );
  return (
    <>
      {change}
      {result?.is_error === true && output}
    </>
  );
}

/** Edits, patches and to-do lists, whose results add nothing unless they failed; null for other calls. */
function toChange(use: ShownBlock): ReactNode {
  if (use.metadata.truncated === true) return null;
  const edits = use.tool_kind === 'edit' ? toEdits(use.tool_input) : [];
  if (edits.length > 0)
    return edits.map(({ before, after }, index) => (
      <Suspense key={index} fallback={<Plain text={after} />}>
        <EditedText name={`${use.id} ${index}`} before={before} after={after} />
      </Suspense>
    ));
  const patched = readPatch(use);
  if (patched.length > 0)
    return (
      <Suspense>
        <Patch name={use.id} files={patched} />
      </Suspense>
    );
  const items = toTodoItems(toInput(use.tool_input));
  return items.length > 0 ? <TodoList items={items} /> : null;
}

/** The call's input in a suitable format. */
function CallInput({ use }: { use: ShownBlock }): ReactNode {
  const { renderSubagent } = useContext(TranscriptContext);
  const input = toInput(use.tool_input);
  const subject = describeToolInput(input);
  if (use.metadata.truncated === true)
    return (
      <>
        <Plain text={String(use.tool_input)} />
        <WholeLine block={use} />
      </>
    );
  if (use.tool_kind === 'shell') return <Code text={toVisible(subject)} language="bash" />;
  if (use.tool_kind === 'plan' && typeof input.plan === 'string') return <Markdown text={input.plan} />;
  if (use.tool_kind === 'question' && Array.isArray(input.questions)) return <Questions questions={input.questions} />;
  if (use.tool_kind === 'agent')
    return (
      <>
        {typeof input.prompt === 'string' && (
          <LongText
            name={`${use.id} prompt`}
            text={input.prompt}
            shownLines={SHOWN_LINES}
            render={(text) => <Markdown text={text} />}
          />
        )}
        {renderSubagent(use)}
      </>
    );
  if (Object.keys(input).length <= 1 && subject !== '') return null;
  return <Code text={toVisible(JSON.stringify(use.tool_input, null, 2) ?? '')} language="json" />;
}

/** The result; if the row holds only the beginning of a text, the rest is fetched from the raw line on request. */
export function Result({ block, kind }: { block: ShownBlock; kind: ShownBlock['tool_kind'] }): ReactNode {
  const text = block.result_text ?? block.content_text ?? '';
  const look = (shown: string): ReactNode => {
    if (kind === 'agent' || kind === 'plan' || kind === 'question') return <Markdown text={shown} />;
    return kind === 'shell' || shown.includes('\u001b') ? <Terminal text={shown} /> : <Plain text={shown} />;
  };
  return (
    <div className={block.is_error === true ? 'result result-failed' : 'result'}>
      {text.trim() === '' ? (
        <p className="muted">No text was returned.</p>
      ) : (
        <LongText
          name={`${block.id} result`}
          text={text}
          shownLines={kind === 'agent' ? 40 : SHOWN_LINES}
          render={look}
        />
      )}
      <WholeLine block={block} />
      {block.attachment != null && (
        <Suspense>
          <AttachedResult block={block} />
        </Suspense>
      )}
      <ImagesOf block={block} />
    </div>
  );
}

/** The raw line has the full text, however much the block was cut. */
function WholeLine({ block }: { block: ShownBlock }): ReactNode {
  const { transcriptId } = useContext(TranscriptContext);
  const [isOpen, setOpen] = useExpanded(`${block.id} whole`);
  const place = toLinePlace(block, transcriptId);
  const line = useRawLine(place, isOpen);
  if (block.metadata.truncated !== true || place === undefined) return null;
  const size = Number(block.metadata.original_byte_length ?? block.byte_length);
  if (!isOpen) {
    return (
      <button type="button" className="quiet more" onClick={() => setOpen(true)}>
        This is the beginning. Fetch all {formatBytes(size)} from the raw line
      </button>
    );
  }
  return line.data === undefined ? (
    <p className="muted">{line.error?.message ?? 'Fetching …'}</p>
  ) : (
    <Plain text={line.data} />
  );
}

/** Rows only describe images. Their bytes are read from the raw line. */
function ImagesOf({ block }: { block: ShownBlock }): ReactNode {
  const { transcriptId } = useContext(TranscriptContext);
  const [isOpen, setOpen] = useExpanded(`${block.id} images`);
  const hasImage = /"image["/]/.test(JSON.stringify(block.metadata.other_parts ?? block.metadata.content ?? ''));
  const place = toLinePlace(block, transcriptId);
  if (!hasImage || place === undefined) return null;
  return (
    <>
      {!isOpen && (
        <button type="button" className="quiet more" onClick={() => setOpen(true)}>
          Show the image
        </button>
      )}
      <TranscriptImage place={place} index={0} isWanted={isOpen} />
    </>
  );
}

interface TodoItem {
  text: string;
  status: string;
}

/** To-do lists and plans, whatever their agent calls the fields. */
function toTodoItems(input: Input): TodoItem[] {
  const list = [input.todos, input.plan, input.items, input.steps].find(Array.isArray) ?? [];
  return list.flatMap((item: unknown) => {
    const { content, step, text, title, status = 'pending' } = toInput(item);
    const words = content ?? step ?? text ?? title;
    return typeof words === 'string' ? [{ text: words, status: String(status) }] : [];
  });
}

const TodoList = ({ items }: { items: TodoItem[] }): ReactNode => (
  <ul className="todos">
    {items.map(({ text, status }, index) => (
      <li key={index} data-status={status}>
        <span aria-hidden="true">{status === 'completed' ? '☑' : status === 'in_progress' ? '◐' : '☐'}</span>
        <span>
          {toVisible(text)} <span className="hidden-label">({status})</span>
        </span>
      </li>
    ))}
  </ul>
);

const Questions = ({ questions }: { questions: unknown[] }): ReactNode =>
  questions.map((each, index) => {
    const { question, options } = toInput(each);
    return (
      <div key={index} className="question">
        <p>{toVisible(String(question ?? ''))}</p>
        <ul>
          {(Array.isArray(options) ? options : []).map((option: unknown, optionIndex: number) => (
            <li key={optionIndex}>
              {toVisible(String(toInput(option).label ?? option))}{' '}
              <span className="muted">{toVisible(String(toInput(option).description ?? ''))}</span>
            </li>
          ))}
        </ul>
      </div>
    );
  });
