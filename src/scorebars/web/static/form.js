// Forms without a page to redraw: dropping a file with its progress, and forms that answer when a value changes.
(() => {
"use strict";
const upload = document.getElementById("upload");

function send(file) {
  const said = document.getElementById("upload-said");
  const bar = document.getElementById("progress");
  const form = new FormData();
  form.append("file", file, file.name);
  const request = new XMLHttpRequest();
  request.open("POST", "/upload");
  request.setRequestHeader("Accept", "application/json");
  request.upload.onprogress = (event) => {
    bar.hidden = false;
    if (event.lengthComputable) bar.value = (100 * event.loaded) / event.total;
    said.textContent = `Sending ${file.name} …`;
  };
  request.onload = () => {
    let answer = {};
    try {
      answer = JSON.parse(request.responseText);
    } catch {
      answer = { problem: request.responseText || "The server does not answer." };
    }
    if (request.status === 200) {
      window.location.href = answer.columns;
    } else {
      bar.hidden = true;
      said.textContent = answer.problem;
      said.classList.add("warning");
    }
  };
  request.onerror = () => {
    bar.hidden = true;
    said.textContent = "The upload was cut off. Is the server still running?";
  };
  request.send(form);
}

if (upload) {
  const file = document.getElementById("file");
  upload.addEventListener("submit", (event) => {
    if (!file.files.length) return;
    event.preventDefault();
    send(file.files[0]);
  });
  file.addEventListener("change", () => file.files.length && send(file.files[0]));
  for (const name of ["dragenter", "dragover"]) {
    document.addEventListener(name, (event) => {
      event.preventDefault();
      upload.classList.add("over");
    });
  }
  document.addEventListener("dragleave", (event) => event.relatedTarget === null && upload.classList.remove("over"));
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    upload.classList.remove("over");
    if (event.dataTransfer.files.length) send(event.dataTransfer.files[0]);
  });
}

// A covariance matrix goes along without leaving the page, so that nothing that was chosen is lost.
const matrix = document.getElementById("matrix-form");
if (matrix) {
  matrix.addEventListener("submit", async (event) => {
    event.preventDefault();
    const said = document.getElementById("matrix-said");
    said.hidden = false;
    try {
      const answer = await fetch(matrix.action, { method: "POST", body: new FormData(matrix), headers: { Accept: "application/json" } });
      const found = await answer.json();
      said.textContent = found.problem || `Uploaded: ${found.name}`;
    } catch {
      said.textContent = "The upload was cut off. Is the server still running?";
    }
  });
}

// A number for all labels and a column exclude each other: what is given last counts.
for (const choice of document.querySelectorAll(".choice")) {
  const [number, column] = [choice.querySelector("input[type=text]"), choice.querySelector("select")];
  if (!number || !column) continue;
  number.addEventListener("input", () => (column.value = ""));
  column.addEventListener("change", () => (number.value = ""));
}

// A form that is sent by itself when a value is changed and left.
for (const form of document.querySelectorAll("form[data-again]")) {
  form.addEventListener("change", (event) => event.target.name !== "with_model" && form.requestSubmit());
}
for (const table of document.querySelectorAll(".scroll")) {
  table.classList.toggle("cut", table.scrollWidth > table.clientWidth + 1);
}
})();
