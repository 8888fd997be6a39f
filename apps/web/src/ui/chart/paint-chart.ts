/** Pixels of the picture for one of the page, so that it stays sharp in a document. */
const SCALE = 2;
const MARGIN_PX = 16;
const TITLE_PX = 30;
/** Nothing of a picture is for the pointer. */
const LEFT_OUT = 'button, [popover], .chart-tooltip, .brush, .hidden-label';
const NO_COLOURS = ['none', 'transparent', 'rgba(0, 0, 0, 0)'];

/** A part of the picture, and where it is in the window. */
interface Part {
  box: DOMRect;
  paint: (context: CanvasRenderingContext2D) => void;
}

/**
 * A figure of the page as PNG, with a title: its bars, lines, fields of colour and texts as they are shown, also what
 * is scrolled out of sight. Fails if the browser cannot make a picture as large.
 */
export async function paintChart(figure: Element, title: string): Promise<Blob> {
  const parts = [...listParts(figure)];
  const edge = figure.getBoundingClientRect();
  const [left, top] = [edge, ...parts.map(({ box }) => box)].reduce(
    ([x, y], box) => [Math.min(x, box.left), Math.min(y, box.top)],
    [edge.left, edge.top],
  );
  const [right, bottom] = parts.reduce(
    ([x, y], { box }) => [Math.max(x, box.right), Math.max(y, box.bottom)],
    [edge.right, edge.top],
  );
  const canvas = document.createElement('canvas');
  canvas.width = Math.ceil((right - left + 2 * MARGIN_PX) * SCALE);
  canvas.height = Math.ceil((bottom - top + 2 * MARGIN_PX + TITLE_PX) * SCALE);
  const context = canvas.getContext('2d');
  if (context === null) throw new Error('The browser cannot paint pictures');
  const page = getComputedStyle(document.body);
  context.scale(SCALE, SCALE);
  context.fillStyle = findBackground(figure);
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.fillStyle = page.color;
  context.font = `bold 15px ${page.fontFamily}`;
  context.textBaseline = 'middle';
  context.fillText(title, MARGIN_PX, MARGIN_PX + TITLE_PX / 3);
  context.translate(MARGIN_PX - left, MARGIN_PX + TITLE_PX - top);
  for (const { paint } of parts) {
    context.save();
    paint(context);
    context.restore();
  }
  return await new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob === null ? reject(new Error('The picture is too large')) : resolve(blob)));
  });
}

const isColour = (colour: string): boolean => !NO_COLOURS.includes(colour);

/** Finds the colour of the nearest element that has a background. */
function findBackground(element: Element): string {
  const { backgroundColor } = getComputedStyle(element);
  if (isColour(backgroundColor)) return backgroundColor;
  return element.parentElement === null ? 'white' : findBackground(element.parentElement);
}

/** From the back to the front. */
function* listParts(element: Element): Generator<Part> {
  if (element.matches(LEFT_OUT)) return;
  const style = getComputedStyle(element);
  if (style.display === 'none' || style.visibility === 'hidden') return;
  if (element instanceof SVGGeometryElement) yield* listShape(element, style);
  else yield* listBox(element, style);
  for (const child of element.childNodes) {
    if (child instanceof Element) yield* listParts(child);
    else if (child instanceof Text) yield* listWords(child, style);
  }
}

/** Background and borders, above and below. */
function* listBox(element: Element, style: CSSStyleDeclaration): Generator<Part> {
  const box = element.getBoundingClientRect();
  const { backgroundColor, borderTopWidth, borderBottomWidth, borderTopColor, borderBottomColor } = style;
  if (box.width === 0) return;
  if (isColour(backgroundColor)) yield toField(box, backgroundColor);
  const [above, below] = [borderTopWidth, borderBottomWidth].map(Number.parseFloat) as [number, number];
  if (above > 0) yield toField(new DOMRect(box.left, box.top, box.width, above), borderTopColor);
  if (below > 0) yield toField(new DOMRect(box.left, box.bottom - below, box.width, below), borderBottomColor);
}

const toField = (box: DOMRect, colour: string, opacity = '1'): Part => ({
  box,
  paint(context) {
    context.globalAlpha = Number(opacity);
    context.fillStyle = colour;
    context.fillRect(box.left, box.top, box.width, box.height);
  },
});

function* listShape(shape: SVGGeometryElement, style: CSSStyleDeclaration): Generator<Part> {
  const { fill, stroke, opacity, strokeWidth, strokeDasharray } = style;
  const box = shape.getBoundingClientRect();
  if (shape instanceof SVGRectElement && isColour(fill)) yield toField(box, fill, opacity);
  const points = listPoints(shape);
  if (points.length < 2 || !isColour(stroke)) return;
  yield {
    box,
    paint(context) {
      context.globalAlpha = Number(opacity);
      context.strokeStyle = stroke;
      context.lineWidth = Number.parseFloat(strokeWidth) || 1;
      context.setLineDash((strokeDasharray.match(/[\d.]+/g) ?? []).map(Number));
      context.beginPath();
      for (const { x, y } of points) context.lineTo(x, y);
      context.stroke();
    },
  };
}

/** Corners of a line in the window. */
function listPoints(shape: SVGGeometryElement): DOMPoint[] {
  const toWindow = shape.getScreenCTM();
  if (toWindow === null) return [];
  if (shape instanceof SVGPolylineElement) return [...shape.points].map((point) => point.matrixTransform(toWindow));
  if (!(shape instanceof SVGLineElement)) return [];
  const { x1, y1, x2, y2 } = shape;
  return [new DOMPoint(x1.baseVal.value, y1.baseVal.value), new DOMPoint(x2.baseVal.value, y2.baseVal.value)].map(
    (point) => point.matrixTransform(toWindow),
  );
}

/** Words one by one, because the page may break lines between them. */
function* listWords(text: Text, style: CSSStyleDeclaration): Generator<Part> {
  const { color, opacity } = style;
  const font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  for (const { 0: word, index } of text.data.matchAll(/\S+/g)) {
    const range = document.createRange();
    range.setStart(text, index);
    range.setEnd(text, index + word.length);
    const box = range.getBoundingClientRect();
    yield {
      box,
      paint(context) {
        context.globalAlpha = Number(opacity);
        context.fillStyle = color;
        context.font = font;
        context.textBaseline = 'middle';
        context.fillText(word, box.left, box.top + box.height / 2);
      },
    };
  }
}
