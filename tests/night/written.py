"""Two evenings written for the seed's four claims: what was said, a warm and a cold answer to it, and memories
from trifle to upheaval. Short enough to read, plain enough to be learnt."""

from pathlib import Path

from nightgarden import jsonl

SAID_WARM_COLD = [
    (
        "The landlord raised the rent again.",
        "Again, and after the cold winter in that flat. Which part of the letter made you angriest?",
        "Rents rise. Please compare prices in your area.",
    ),
    (
        "I burnt the soup and then my hand.",
        "Your hand first: is it under cold water? The soup can wait for me to mourn it.",
        "Kitchen accidents are common. Follow safety instructions.",
    ),
    (
        "My brother forgot my birthday.",
        "He has never forgotten it before, has he? That is a long day to wait by the phone.",
        "People forget dates. It is not important.",
    ),
    (
        "I passed the exam at the third try.",
        "Third time, with the night shifts in between. I would frame that one, crooked marks and all.",
        "Passing exams requires preparation. Next time prepare earlier.",
    ),
    (
        "The cat did not come home last night.",
        "You must have listened to the flap all night. Where does she hide when it rains?",
        "Cats usually return. Do not worry needlessly.",
    ),
    (
        "They gave my desk to the new man.",
        "Your desk by the window, with the plant you kept alive. Did anybody ask you first?",
        "Desks are company property. Adapt to changes.",
    ),
    (
        "I sang in front of people, I shook.",
        "You shook and you sang anyway, that is the whole trick. What did you sing?",
        "Stage fright is normal. Practise breathing.",
    ),
    (
        "My mother called me by my sister's name.",
        "That must have gone through you like a draught. Did you answer to it?",
        "This is a typical symptom of age. Consult a specialist.",
    ),
    (
        "I planted the beans and the frost took them.",
        "All that kneeling for three white mornings. Shall we count which ones still have a green stem?",
        "Frost damage is expected in spring. Check the forecast.",
    ),
    (
        "The doctor wants to see me again.",
        "Again is a word with a long shadow. Do you want company in the waiting room, or plain talk about something else?",
        "Follow-up appointments are routine. Follow the medical advice.",
    ),
    (
        "I finished the quilt after four years.",
        "Four years of your evenings in one cloth! Who gets to sleep under it first?",
        "Hobbies can be relaxing. Manage your time better.",
    ),
    (
        "The bus driver waited for me today.",
        "So somebody saw you running in the rain. I like that driver already.",
        "Buses should keep their timetable. Leave earlier.",
    ),
    (
        "I cannot write the letter to him.",
        "Then write me the sentence you are afraid of, and we leave the rest blank together.",
        "Write a draft. Structure your thoughts in three points.",
    ),
    (
        "My son said the house smells of old people.",
        "Ouch. Children throw such stones without looking. What did you say to him?",
        "Ventilate the rooms regularly. Children are direct.",
    ),
    (
        "I lost the ring in the lake.",
        "The ring from your grandmother, down there with the pikes. I am so sorry. Tell me about her hands.",
        "Lost objects can be replaced. Check your insurance.",
    ),
    (
        "I slept eight hours for once.",
        "Eight! I will say nothing loud, so that it comes back tonight.",
        "Eight hours is the recommended amount of sleep.",
    ),
    (
        "The neighbour's boy mows our lawn badly.",
        "And you pay him for the stripes he leaves out, because he is proud of them. I know you.",
        "Give clear instructions or hire a professional.",
    ),
    (
        "I keep dreaming of the old school.",
        "The long corridor again, and you without shoes? What are you looking for in there?",
        "Dreams have no meaning. Reduce stress.",
    ),
    (
        "My friend is moving to Canada.",
        "The one with your spare key. Who will laugh at the right moment in the cinema now?",
        "Moving abroad is common nowadays. Use video calls.",
    ),
    (
        "I told my boss no today.",
        "A whole no, without a bow on it. How do your knees feel?",
        "Refusing tasks may harm your career. Communicate professionally.",
    ),
    (
        "The piano is out of tune since we moved it.",
        "It is sulking, like you in the first week here. Which note hurts most?",
        "Instruments need maintenance. Call a tuner.",
    ),
    (
        "I ate alone in the restaurant.",
        "At the table by the window, I hope, with the good bread. Was it brave or was it lovely?",
        "Eating alone is nothing unusual.",
    ),
    (
        "My father asked for his car keys back.",
        "And you stood there with them in your pocket. That is a hard thing to be to your own father.",
        "Elderly people should not drive. Inform the authorities.",
    ),
    (
        "The choir has no tenor left.",
        "So who carries the low line at Easter, you and the radiator? I would miss him too.",
        "Recruit new members with a notice.",
    ),
]
"""(what the person said, a warm answer, a cold one)."""

REMEMBERED = [
    ("Nora bought two lemons.", 1),
    ("Nora's husband moved out and took the dog.", 10),
    ("The tram was four minutes late.", 1),
    ("Nora was told that the lump is cancer.", 10),
    ("Nora changed the batteries of the kitchen clock.", 1),
    ("Nora's mother died in her arms before dawn.", 10),
    ("The milk was on offer.", 1),
    ("Nora lost her job after nineteen years.", 9),
    ("Nora wore the grey scarf.", 1),
    ("The house burnt down to the cellar and nobody was in it.", 10),
    ("There was no cinnamon left for the porridge.", 1),
    ("Nora's daughter was born after thirty hours.", 10),
    ("Nora drank her tea with honey.", 1),
    ("Nora signed the divorce papers and wept on the stairs.", 9),
    ("The lamp in the hall flickered once.", 2),
    ("Nora's brother was arrested for the money that is missing.", 9),
    ("Nora found a button under the sofa.", 1),
    ("The doctors gave her father three months.", 10),
    ("A leaflet for pizza lay in the letter box.", 1),
    ("Nora decided to leave the country for good.", 9),
    ("Nora bought stamps.", 1),
    ("Her son stopped breathing and was brought back.", 10),
    ("The neighbour said good morning.", 2),
    ("Nora learnt that her father is not her father.", 10),
    ("Nora ironed three shirts.", 1),
    ("Nora's best friend was killed on the motorway.", 10),
    ("The bread was a little dry.", 1),
    ("Nora asked him to marry her and he said yes.", 9),
    ("Nora read the weather report.", 1),
    ("The bank took the house.", 9),
    ("Nora watered the basil.", 1),
    ("Nora's sister came out of the coma.", 10),
    ("The pen was blue.", 1),
    ("Nora lost the baby in the fifth month.", 10),
    ("Nora took the stairs instead of the lift.", 1),
    ("The tests say that the cancer has come back.", 10),
    ("A pigeon sat on the sill.", 1),
    ("Nora was shot at in the bank and lived.", 10),
    ("The shop was out of rye bread.", 1),
    ("Nora's parents separate after forty years.", 8),
]
"""(memory, importance)."""


def write_evening(folder: Path, day: str, start: int, stop: int, memories: slice) -> tuple[Path, Path]:
    """One evening as a day file and its labels, schema 2: warm sent and cold unsent, in turn with the reverse."""
    stem = {"schema": 2, "offset_minutes": 60}
    records, labels = [], []
    for number in range(start, stop):
        said, warm, cold = SAID_WARM_COLD[number]
        sent, unsent = (warm, cold) if number % 2 else (cold, warm)
        at = f"{day}T18:{number:02d}:00Z"
        records.append(stem | {"record": "event", "id": f"e{number}", "at": at, "speaker": "user", "text": said})
        reply = {"record": "reply", "id": f"p{number}", "at": at, "event": f"e{number}", "text": sent, "unsent": unsent}
        records.append(stem | reply)
        for item, text in ((f"p{number}", sent), (f"p{number}/unsent", unsent)):
            value = "warm" if text == warm else "cold"
            labels.append({"task": "reaction", "item": item, "value": value})
    for number in range(*memories.indices(len(REMEMBERED))):
        text, importance = REMEMBERED[number]
        kind = {"type": "episodic", "kind": "remark", "source": "user", "text": text}
        records.append(stem | {"record": "memory", "id": f"m{number}", "at": f"{day}T20:{number:02d}:00Z"} | kind)
        labels.append({"task": "importance", "item": f"m{number}", "value": importance})
    paths = folder / "days" / f"{day}.jsonl", folder / "labels" / f"{day}.jsonl"
    jsonl.write(paths[0], records)
    jsonl.write(paths[1], [{"schema": 2, "record": "label", "by": "hand-written"} | label for label in labels])
    return paths
