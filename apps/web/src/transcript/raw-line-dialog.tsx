import { toVisible } from '@recount/contract/conversation';
import type { ReactNode } from 'react';
import { formatBytes } from '../format/values.ts';
import { Modal } from '../ui/modal.tsx';
import { Answered } from '../ui/states.tsx';
import { type LinePlace, toLineUrl, useRawLine } from './raw-line.ts';

const MAX_SHOWN_LENGTH = 300_000;

/** The raw line behind something shown, as it was uploaded. */
export function RawLineDialog({ place, close }: { place: LinePlace; close: () => void }): ReactNode {
  const line = useRawLine(place);
  return (
    <Modal
      title={`Line ${place.line_number.toLocaleString()}, ${formatBytes(place.byte_length)} at byte ${place.byte_offset.toLocaleString()}`}
      close={close}
    >
      <Answered of={line}>
        {(text) => (
          <pre className="plain raw" tabIndex={0}>
            {toVisible(toPretty(text).slice(0, MAX_SHOWN_LENGTH))}
          </pre>
        )}
      </Answered>
      <div className="row">
        <a href={toLineUrl(place)} download>
          Download
        </a>
        <button type="button" onClick={() => void navigator.clipboard.writeText(line.data ?? '')}>
          Copy
        </button>
        <button type="button" onClick={close}>
          Close
        </button>
      </div>
    </Modal>
  );
}

function toPretty(line: string): string {
  try {
    return JSON.stringify(JSON.parse(line), null, 2);
  } catch {
    return line;
  }
}
