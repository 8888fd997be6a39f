import type { ShownMessage, Step, Turn } from '@recount/contract/conversation';
import { describeLeftOut, toAsker, toContextTokens, toVisible } from '@recount/contract/conversation';
import { lazy, memo, type ReactNode, Suspense, useContext, useState } from 'react';
import { formatClock, formatCompact, formatFullTime, formatMoney, toShortModel } from '../format/values.ts';
import { Fold, LongText, Plain } from './fold.tsx';
import { Markdown } from './markdown.tsx';
import { ToolCall } from './tool-step.tsx';
import { TranscriptContext } from './transcript-context.ts';

const OtherBlock = lazy(async () => ({ default: (await import('./other-block.tsx')).OtherBlock }));
const Result = lazy(async () => ({ default: (await import('./tool-body.tsx')).Result }));
const RawLineDialog = lazy(async () => ({ default: (await import('./raw-line-dialog.tsx')).RawLineDialog }));

const PROMPT_LINES = 40;

/** A message in readable form, with its actions. */
export const TurnView = memo(function TurnView({ turn, isSelected }: { turn: Turn; isSelected: boolean }): ReactNode {
  const { kind, message } = turn;
  const { isSubagent } = useContext(TranscriptContext);
  const label =
    kind === 'prompt'
      ? toAsker(message, isSubagent)
      : kind === 'answer'
        ? toShortModel(message.model)
        : kind === 'context'
          ? 'Context'
          : 'System';
  return (
    <article
      className={`turn turn-${kind}`}
      data-selected={isSelected}
      data-message={message.id}
      aria-label={`${label}, message ${message.ordinal + 1}`}
    >
      <header className="turn-head">
        <span className="turn-who">{label}</span>
        {message.is_sidechain && <span className="tag">sub-agent</span>}
        {message.metadata.usage_unfinalised === true && (
          <span
            className="tag warn"
            title="The transcript has only a placeholder for the output count of this response, so its tokens and cost are too low"
          >
            output incomplete
          </span>
        )}
        <span className="turn-figures muted">
          {message.tokens_out !== null && (
            <>
              <span title={`${toContextTokens(message)} tokens in the context, ${message.tokens_out} written`}>
                {formatCompact(toContextTokens(message))} → {formatCompact(message.tokens_out)}
              </span>
              <data
                value={message.cost_usd ?? ''}
                title={message.cost_usd === null ? 'No known price' : String(message.cost_usd)}
              >
                {formatMoney(message.cost_usd)}
              </data>
            </>
          )}
          {message.timestamp !== null && (
            <time dateTime={message.timestamp} title={formatFullTime(message.timestamp)}>
              {formatClock(message.timestamp)}
            </time>
          )}
        </span>
        <TurnActions turn={turn} />
      </header>
      <TurnContent turn={turn} />
      {turn.leftOutCount > 0 && <p className="muted">{describeLeftOut(turn)}</p>}
    </article>
  );
});

type ShownTurn = Turn<ShownMessage>;

/** The words and actions of a turn. `isRunning`: results of its calls may still come. */
export function TurnContent({ turn, isRunning = false }: { turn: ShownTurn; isRunning?: boolean }): ReactNode {
  if (turn.kind === 'context') return <ContextText turn={turn} />;
  return (
    <>
      {turn.steps.map((step) => (
        <StepView key={toStepId(step)} step={step} turn={turn} isRunning={isRunning} />
      ))}
      {turn.kind === 'system' && <Notice turn={turn} />}
    </>
  );
}

const toStepId = (step: Step<ShownMessage>): string => (step.kind === 'tool' ? step.use.id : step.block.id);

interface StepProps {
  step: Step<ShownMessage>;
  turn: ShownTurn;
  isRunning?: boolean;
}

function StepView({ step, turn, isRunning = false }: StepProps): ReactNode {
  switch (step.kind) {
    case 'text': {
      const text = step.block.content_text ?? '';
      if (turn.kind === 'system') return <p className="notice">{toVisible(text)}</p>;
      return (
        <LongText
          name={step.block.id}
          text={text}
          shownLines={turn.kind === 'prompt' ? PROMPT_LINES : 400}
          render={(shown) => <Markdown text={shown} />}
        />
      );
    }
    case 'thinking': {
      const text = step.block.thinking_text ?? '';
      const summary = (
        <>
          <span className="tool-name">Thinking</span>
          <span className="tool-subject clip muted">{toVisible(text.trim().slice(0, 200))}</span>
        </>
      );
      return (
        <Fold name={step.block.id} className="thinking" summary={summary}>
          {() => <Markdown text={text} />}
        </Fold>
      );
    }
    case 'tool':
      return <ToolCall step={step} timestamp={turn.message.timestamp} isRunning={isRunning} />;
    case 'result':
      return (
        <Fold
          name={step.block.id}
          className="tool"
          summary={<span className="tool-name">A result whose call is not in this transcript</span>}
        >
          {() => (
            <Suspense>
              <Result block={step.block} kind={null} />
            </Suspense>
          )}
        </Fold>
      );
    case 'other':
      return (
        <Suspense>
          <OtherBlock block={step.block} turn={turn} />
        </Suspense>
      );
  }
}

/** Text that the agent's program added, collapsed, showing its beginning. */
function ContextText({ turn }: { turn: ShownTurn }): ReactNode {
  const { message, steps } = turn;
  const isSummary = message.metadata.isCompactSummary === true;
  const text = steps.flatMap((step) => (step.kind === 'text' ? [step.block.content_text ?? ''] : [])).join('\n\n');
  if (text === '') return steps.map((step) => <StepView key={toStepId(step)} step={step} turn={turn} />);
  const summary = (
    <>
      <span className="tool-name">{isSummary ? 'Summary of what was compacted' : 'Added by the agent’s program'}</span>
      <span className="tool-subject clip muted">{toVisible(text.trim().slice(0, 200))}</span>
    </>
  );
  return (
    <Fold name={message.id} className="context-text" summary={summary}>
      {() => <Markdown text={text} />}
    </Fold>
  );
}

/** A line between messages, a compaction, an API error, a hook's effect. */
function Notice({ turn: { message, steps } }: { turn: ShownTurn }): ReactNode {
  const { metadata } = message;
  if (metadata.compactMetadata !== undefined && steps.length === 0)
    return <p className="notice">The context was compacted here.</p>;
  if (metadata.error === undefined) return null;
  const wait =
    typeof metadata.retryInMs === 'number' ? `, again after ${Math.round(metadata.retryInMs / 100) / 10} s` : '';
  const attempt = typeof metadata.retryAttempt === 'number' ? ` (attempt ${metadata.retryAttempt}${wait})` : '';
  return (
    <Fold
      name={`${message.id} error`}
      className="tool tool-failed"
      summary={<span className="tool-name">An error of the model’s API{attempt}</span>}
    >
      {() => <Plain text={JSON.stringify(metadata.error, null, 2)} />}
    </Fold>
  );
}

function TurnActions({ turn: { message, steps } }: { turn: Turn }): ReactNode {
  const { transcriptId, sessionId } = useContext(TranscriptContext);
  const [isRawOpen, setRawOpen] = useState(false);
  const [done, setDone] = useState('');
  const copy = (text: string, what: string): void => {
    void navigator.clipboard.writeText(text).then(() => setDone(what));
  };
  const link = `${location.origin}/sessions/${encodeURIComponent(sessionId)}?message=${message.id}`;
  const text = steps.flatMap((step) => (step.kind === 'text' ? [step.block.content_text ?? ''] : [])).join('\n\n');
  return (
    <span className="turn-actions">
      <span className="muted" role="status">
        {done}
      </span>
      <button type="button" className="quiet" onClick={() => copy(link, 'Link copied')}>
        Link
      </button>
      {text !== '' && (
        <button type="button" className="quiet" onClick={() => copy(text, 'Text copied')}>
          Copy
        </button>
      )}
      <button type="button" className="quiet" onClick={() => setRawOpen(true)}>
        Raw
      </button>
      <Suspense>
        {isRawOpen && <RawLineDialog place={{ ...message, transcriptId }} close={() => setRawOpen(false)} />}
      </Suspense>
    </span>
  );
}
