// Only for comfort: a node under the pointer or in focus stands out with its neighbours.
for (const svg of document.querySelectorAll("svg")) {
  const edges = [...svg.querySelectorAll(".edge")], nodes = [...svg.querySelectorAll(".node")];
  const show = (key) => {
    const near = new Set([key]);
    for (const edge of edges) {
      const isOf = key !== null && (edge.dataset.a === key || edge.dataset.b === key);
      edge.classList.toggle("lit", isOf);
      if (isOf) { near.add(edge.dataset.a).add(edge.dataset.b); }
    }
    for (const node of nodes) { node.classList.toggle("lit", near.has(node.dataset.id)); }
    svg.classList.toggle("has-focus", key !== null);
  };
  for (const node of nodes) {
    for (const name of ["pointerenter", "focus"]) { node.addEventListener(name, () => show(node.dataset.id)); }
    for (const name of ["pointerleave", "blur"]) { node.addEventListener(name, () => show(null)); }
  }
}
