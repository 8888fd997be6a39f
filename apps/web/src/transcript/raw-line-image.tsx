import { type ReactNode, useEffect, useState } from 'react';
import { Answered } from '../ui/states.tsx';
import { type LinePlace, useRawLine } from './raw-line.ts';

interface ImageData {
  mediaType: string;
  base64: string;
}

const MEDIA_TYPE = /^image\/(png|jpeg|gif|webp|avif|bmp)$/;
const MAX_JSON_DEPTH = 30;

/**
 * Images in a line, in order, whatever its agent calls their fields. They are base64 beside a media type, or a `data:`
 * URL. Bitmaps only, because an SVG image is a document.
 */
function findImages(value: unknown, depth = 0): ImageData[] {
  if (depth > MAX_JSON_DEPTH) return [];
  if (typeof value === 'string') {
    const [, mediaType = '', base64 = ''] = /^data:(image\/\w+);base64,([A-Za-z0-9+/=]+)$/.exec(value) ?? [];
    return MEDIA_TYPE.test(mediaType) ? [{ mediaType, base64 }] : [];
  }
  if (typeof value !== 'object' || value === null) return [];
  const fields = value as Record<string, unknown>;
  const mediaType = fields.media_type ?? fields.mediaType ?? fields.mimeType ?? fields.mime_type;
  if (typeof mediaType === 'string' && MEDIA_TYPE.test(mediaType)) {
    const base64 = fields.data ?? fields.base64;
    if (typeof base64 === 'string' && /^[A-Za-z0-9+/=\s]+$/.test(base64)) return [{ mediaType, base64 }];
  }
  return Object.values(fields).flatMap((each) => findImages(each, depth + 1));
}

/** An image in a transcript, read from its raw line. */
export function RawLineImage({ place, index }: { place: LinePlace; index: number }): ReactNode {
  const line = useRawLine(place);
  const [url, setUrl] = useState<string>();
  const [isMissing, setMissing] = useState(false);
  useEffect(() => {
    if (line.data === undefined) return;
    const image = toImages(line.data)[index];
    setMissing(image === undefined);
    if (image === undefined) return;
    const bytes = Uint8Array.from(atob(image.base64), (character) => character.charCodeAt(0));
    const next = URL.createObjectURL(new Blob([bytes], { type: image.mediaType }));
    setUrl(next);
    return () => URL.revokeObjectURL(next);
  }, [line.data, index]);
  if (url !== undefined) return <img className="transcript-image" src={url} alt={`From line ${place.line_number}`} />;
  if (isMissing) return <p className="muted">The line has no image that can be shown.</p>;
  return <Answered of={line}>{() => null}</Answered>;
}

function toImages(line: string): ImageData[] {
  try {
    return findImages(JSON.parse(line));
  } catch {
    return [];
  }
}
